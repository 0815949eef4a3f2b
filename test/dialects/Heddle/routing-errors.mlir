// RUN: heddle-opt %s --split-input-file --verify-diagnostics

// expected-error @+2 {{is a multiple of @tokens by a factor of 1 to 16777216, got 0}}
heddle.size @tokens max 64
heddle.size @none max 128 of @tokens times 0

// -----

heddle.size @tokens max 64
// expected-error @+1 {{@both is not called like a multiple: @tokens times N is @"tokens*N"}}
heddle.size @both max 128 of @tokens times 2

// -----

heddle.size @tokens max 64
// expected-error @+1 {{@tokens*3 is not called like a multiple}}
heddle.size @"tokens*3" max 128 of @tokens times 2

// -----

heddle.size @tokens max 64
// expected-error @+1 {{covers 200 from 0 on of @tokens, whose maximum is 128}}
heddle.size @many max 200 of @tokens times 2

// -----

func.func @reshape(%x: tensor<?x3xf32, #heddle.dims<"tokens">>) {
  // expected-error @+1 {{expects as many elements in as many rows}}
  %0 = heddle.reshape %x : tensor<?x3xf32, #heddle.dims<"tokens">> to tensor<?x1xf32, #heddle.dims<"tokens*2">>
  return
}

// -----

func.func @size_without_segments(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{expects starts and lengths of segments, and 'row_size', together or not at all}}
  %0:3 = heddle.top_k %x {row_size = "beam"} : tensor<4x8xf32> -> tensor<4x3xf32>, tensor<4x3xi32>
  return
}

// -----

func.func @many(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{expects to take 1 to 8 elements of a segment, got 9}}
  %0:3 = heddle.top_k %x : tensor<4x8xf32> -> tensor<4x9xf32>, tensor<4x9xi32>
  return
}

// -----

func.func @pick_rows(%x: tensor<4x8xf32>, %c: tensor<3x2xi32>) {
  // expected-error @+1 {{expects the same number of rows in}}
  %0 = heddle.pick %x, %c : tensor<4x8xf32>, tensor<3x2xi32> -> tensor<4x2xf32>
  return
}

// -----

func.func @pick_columns(%x: tensor<4x8xf32>, %c: tensor<4x2xi32>) {
  // expected-error @+1 {{expects the same number of columns in}}
  %0 = heddle.pick %x, %c : tensor<4x8xf32>, tensor<4x2xi32> -> tensor<4x3xf32>
  return
}

// -----

func.func @place_rows(%x: tensor<4x2xf32>, %c: tensor<4x2xi32>) {
  // expected-error @+1 {{expects the same number of rows in}}
  %0 = heddle.place %x, %c : tensor<4x2xf32>, tensor<4x2xi32> -> tensor<3x8xf32>
  return
}

// -----

func.func @place_columns(%x: tensor<4x3xf32>, %c: tensor<4x2xi32>) {
  // expected-error @+1 {{expects the same number of columns in}}
  %0 = heddle.place %x, %c : tensor<4x3xf32>, tensor<4x2xi32> -> tensor<4x8xf32>
  return
}

// -----

func.func @counts(%c: tensor<?x2xi32, #heddle.dims<"tokens">>) {
  // expected-error @+1 {{expects a static number of blocks and of experts, got}}
  %0 = heddle.count_choices %c : tensor<?x2xi32, #heddle.dims<"tokens">> -> tensor<?x8xi32, #heddle.dims<"tokens">>
  return
}

// -----

!chosen = tensor<?x2xi32, #heddle.dims<"tokens">>
func.func @order(%c: !chosen, %n: tensor<3x8xi32>) {
  // expected-error @+1 {{expects an order of all choices of}}
  %0:4 = heddle.dispatch %c, %n : !chosen, tensor<3x8xi32> -> tensor<?x1xi32, #heddle.dims<"tokens*3">>, tensor<?xi32, #heddle.dims<"tokens*3">>, tensor<9xi32>
  return
}

// -----

!chosen = tensor<?x2xi32, #heddle.dims<"tokens">>
func.func @experts(%c: !chosen, %n: tensor<3x8xi32>) {
  // expected-error @+1 {{expects the same number of choices in}}
  %0:4 = heddle.dispatch %c, %n : !chosen, tensor<3x8xi32> -> tensor<?x1xi32, #heddle.dims<"tokens*2">>, tensor<?xi32, #heddle.dims<"tokens">>, tensor<9xi32>
  return
}

// -----

!chosen = tensor<?x2xi32, #heddle.dims<"tokens">>
func.func @starts(%c: !chosen, %n: tensor<3x8xi32>) {
  // expected-error @+1 {{expects a start for each expert and an end, got 'tensor<8xi32>' for 'tensor<3x8xi32>'}}
  %0:4 = heddle.dispatch %c, %n : !chosen, tensor<3x8xi32> -> tensor<?x1xi32, #heddle.dims<"tokens*2">>, tensor<?xi32, #heddle.dims<"tokens*2">>, tensor<8xi32>
  return
}

// -----

func.func @gather_width(%x: tensor<4x8xf32>, %i: tensor<5x1xi32>, %j: tensor<4x2xi32>) {
  // expected-error @+1 {{expects the same width in}}
  %0 = heddle.gather %x at %i inverse %j : tensor<4x8xf32>, tensor<5x1xi32>, tensor<4x2xi32> -> tensor<5x7xf32>
  return
}

// -----

func.func @gather_inverse(%x: tensor<4x8xf32>, %i: tensor<5x1xi32>, %j: tensor<3x2xi32>) {
  // expected-error @+1 {{expects the same number of rows in}}
  %0 = heddle.gather %x at %i inverse %j : tensor<4x8xf32>, tensor<5x1xi32>, tensor<3x2xi32> -> tensor<5x8xf32>
  return
}

// -----

func.func @gather_rows(%x: tensor<4x8xf32>, %i: tensor<5x1xi32>, %j: tensor<4x2xi32>) {
  // expected-error @+1 {{expects the same number of rows in}}
  %0 = heddle.gather %x at %i inverse %j : tensor<4x8xf32>, tensor<5x1xi32>, tensor<4x2xi32> -> tensor<6x8xf32>
  return
}

// -----

func.func @elements(%x: tensor<4x8xf32>, %w: tensor<16x6xbf16>, %s: tensor<3xi32>) {
  // expected-error @+1 {{multiplies elements of a single type}}
  %0 = heddle.grouped_matmul %x, %w groups(%s) : tensor<4x8xf32>, tensor<16x6xbf16>, tensor<3xi32> -> tensor<4x6xf32>
  return
}

// -----

func.func @no_groups(%x: tensor<4x8xf32>, %w: tensor<16x6xf32>, %s: tensor<1xi32>) {
  // expected-error @+1 {{expects a static number of starts, one more than groups, got 'tensor<1xi32>'}}
  %0 = heddle.grouped_matmul %x, %w groups(%s) : tensor<4x8xf32>, tensor<16x6xf32>, tensor<1xi32> -> tensor<4x6xf32>
  return
}

// -----

func.func @both(%x: tensor<4x8xf32>, %w: tensor<16x6xf32>, %s: tensor<3xi32>) {
  // expected-error @+1 {{transposes both operands}}
  %0 = heddle.grouped_matmul %x, %w groups(%s) {transpose_lhs, transpose_rhs} : tensor<4x8xf32>, tensor<16x6xf32>, tensor<3xi32> -> tensor<16x6xf32>
  return
}

// -----

func.func @divides(%x: tensor<4x8xf32>, %w: tensor<17x6xf32>, %s: tensor<3xi32>) {
  // expected-error @+1 {{expects matrices of 2 groups, one below the other, got 'tensor<17x6xf32>'}}
  %0 = heddle.grouped_matmul %x, %w groups(%s) : tensor<4x8xf32>, tensor<17x6xf32>, tensor<3xi32> -> tensor<4x6xf32>
  return
}

// -----

func.func @depth(%x: tensor<4x7xf32>, %w: tensor<16x6xf32>, %s: tensor<3xi32>) {
  // expected-error @+1 {{expects 8 columns, the rows of a group's matrix in 'tensor<16x6xf32>', got 'tensor<4x7xf32>'}}
  %0 = heddle.grouped_matmul %x, %w groups(%s) : tensor<4x7xf32>, tensor<16x6xf32>, tensor<3xi32> -> tensor<4x6xf32>
  return
}

// -----

func.func @columns(%x: tensor<4x8xf32>, %w: tensor<16x6xf32>, %s: tensor<3xi32>) {
  // expected-error @+1 {{expects the same number of columns in}}
  %0 = heddle.grouped_matmul %x, %w groups(%s) : tensor<4x8xf32>, tensor<16x6xf32>, tensor<3xi32> -> tensor<4x5xf32>
  return
}

// -----

func.func @rows(%x: tensor<4x8xf32>, %w: tensor<16x6xf32>, %s: tensor<3xi32>) {
  // expected-error @+1 {{expects the same number of rows in}}
  %0 = heddle.grouped_matmul %x, %w groups(%s) : tensor<4x8xf32>, tensor<16x6xf32>, tensor<3xi32> -> tensor<3x6xf32>
  return
}

// -----

func.func @transposed(%x: tensor<4x5xf32>, %w: tensor<16x6xf32>, %s: tensor<3xi32>) {
  // expected-error @+1 {{expects the same contracted extent in}}
  %0 = heddle.grouped_matmul %x, %w groups(%s) {transpose_rhs} : tensor<4x5xf32>, tensor<16x6xf32>, tensor<3xi32> -> tensor<4x8xf32>
  return
}

// -----

func.func @gradient(%x: tensor<4x8xf32>, %g: tensor<5x6xf32>, %s: tensor<3xi32>) {
  // expected-error @+1 {{expects the same number of rows in}}
  %0 = heddle.grouped_matmul %x, %g groups(%s) {transpose_lhs} : tensor<4x8xf32>, tensor<5x6xf32>, tensor<3xi32> -> tensor<16x6xf32>
  return
}
