// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @matmul(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) {
  // expected-error @+1 {{expects the same contracted extent in 'tensor<4x8xf32>' (dimension 1) and 'tensor<4x8xf32>' (dimension 0)}}
  %0 = heddle.matmul %a, %b : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// Contracting source tokens with target tokens is an error, even if both extents are dynamic.
func.func @matmul(%a: tensor<?x8xf32, #heddle.dims<"source">>, %b: tensor<?x8xf32, #heddle.dims<"target">>) {
  // expected-error @+1 {{expects the same contracted extent}}
  %0 = heddle.matmul %a, %b {transpose_lhs} : tensor<?x8xf32, #heddle.dims<"source">>, tensor<?x8xf32, #heddle.dims<"target">> -> tensor<8x8xf32>
  return
}

// -----

func.func @matmul(%a: tensor<4x8xf32>, %b: tensor<8x4xf32>) {
  // expected-error @+1 {{expects the same number of rows}}
  %0 = heddle.matmul %a, %b : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<8x4xf32>
  return
}

// -----

func.func @matmul(%a: tensor<4x8xf32>, %b: tensor<6x8xf32>) {
  // expected-error @+1 {{expects the same number of columns in 'tensor<6x8xf32>' (dimension 0) and 'tensor<4x8xf32>' (dimension 1)}}
  %0 = heddle.matmul %a, %b {transpose_rhs} : tensor<4x8xf32>, tensor<6x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @sum(%x: tensor<2x4x8xf32>) {
  // expected-error @+1 {{expects 32 sums of the rows of 'tensor<2x4x8xf32>', got 'tensor<8xf32>'}}
  %0 = heddle.sum rows %x : tensor<2x4x8xf32> -> tensor<8xf32>
  return
}

// -----

func.func @sum(%x: tensor<2x?x8xf32, #heddle.dims<"n">>) {
  // expected-error @+1 {{expects a matrix, a row or a column, got 'tensor<2x?x8xf32, #heddle.dims<"n">>'}}
  %0 = heddle.sum columns %x : tensor<2x?x8xf32, #heddle.dims<"n">> -> tensor<2xf32>
  return
}

// -----

func.func @sum(%x: tensor<2x4x8xf32>) {
  // expected-error @+1 {{expects the same number of parts in 'tensor<2x4x8xf32>' (dimension 1) and 'tensor<2x8xf32>' (dimension 1)}}
  %0 = heddle.sum columns %x : tensor<2x4x8xf32> -> tensor<2x8xf32>
  return
}

// -----

func.func @sum(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{cannot sum 'tensor<4x8xf32>' to 'tensor<4x1xf32>'}}
  %0 = heddle.sum columns %x : tensor<4x8xf32> -> tensor<4x1xf32>
  return
}

// -----

func.func @partial_sums(%x: tensor<?x4x8xf32, #heddle.dims<"n">>) {
  // expected-error @+1 {{expects 32 sums of the rows of 'tensor<?x4x8xf32, #heddle.dims<"n">>', got 'tensor<16x8xf32>'}}
  %0 = heddle.partial_sums %x : tensor<?x4x8xf32, #heddle.dims<"n">> -> tensor<16x8xf32>
  return
}

// -----

func.func @sum(%x: tensor<8xf32>) {
  // expected-error @+1 {{cannot sum the rows of 'tensor<8xf32>'}}
  %0 = heddle.sum rows %x : tensor<8xf32> -> tensor<1xf32>
  return
}

// -----

func.func @sum(%x: tensor<?xf32>) {
  // expected-error @+1 {{cannot sum the columns of 'tensor<?xf32>'}}
  %0 = heddle.sum columns %x : tensor<?xf32> -> tensor<1xf32>
  return
}

// -----

func.func @sum(%x: tensor<8xf32>) {
  // expected-error @+1 {{expects the sum of 'tensor<8xf32>' to be a scalar, got 'tensor<8xf32>'}}
  %0 = heddle.sum columns %x : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

func.func @sum(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{expects the same remaining extent in 'tensor<4x8xf32>' (dimension 1) and 'tensor<4xf32>' (dimension 0)}}
  %0 = heddle.sum rows %x : tensor<4x8xf32> -> tensor<4xf32>
  return
}

// -----

func.func @layer_norm(%x: tensor<4x8xf32>, %g: tensor<4xf32>) {
  // expected-error @+1 {{expects the same width}}
  %0:3 = heddle.layer_norm %x, %g, %g {epsilon = 1.0e-6 : f32} : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @layer_norm(%x: tensor<4x8xf32>, %g: tensor<8xf32>) {
  // expected-error @+1 {{expects the same number of rows}}
  %0:3 = heddle.layer_norm %x, %g, %g {epsilon = 1.0e-6 : f32} : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

func.func @layer_norm(%x: tensor<4x?xf32>, %g: tensor<?xf32>, %m: tensor<4xf32>) {
  // expected-error @+1 {{expects a static number of columns, got 'tensor<4x?xf32>'}}
  %0 = heddle.layer_norm_grad %x, %x, %g, %m, %m : tensor<4x?xf32>, tensor<?xf32>, tensor<4xf32>
  return
}

// -----

func.func @layer_norm(%x: tensor<4x8xf32>, %g: tensor<8xf32>) {
  // expected-error @+1 {{expects the same number of rows}}
  %0 = heddle.layer_norm_grad %x, %x, %g, %g, %g : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @layer_norm(%x: tensor<4x8xf32>, %m: tensor<4xf32>) {
  // expected-error @+1 {{expects the same width}}
  %0 = heddle.layer_norm_grad %x, %x, %m, %m, %m : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

func.func @layer_norm(%x: tensor<4x8xf32>, %g: tensor<8xf32>, %m: tensor<5xf32>) {
  // expected-error @+1 {{expects the same number of rows}}
  %0 = heddle.layer_norm_apply %x, %g, %g, %m, %m : tensor<4x8xf32>, tensor<8xf32>, tensor<5xf32>
  return
}

// -----

func.func @layer_norm(%x: tensor<4x8xf32>, %m: tensor<4xf32>) {
  // expected-error @+1 {{expects the same width}}
  %0 = heddle.layer_norm_apply %x, %m, %m, %m, %m : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

func.func @cross_entropy(%x: tensor<4x8xf32>, %t: tensor<4xi32>) {
  // expected-error @+1 {{expects 'smoothing' in [0, 1), got 1}}
  %0:2 = heddle.cross_entropy %x, %t {smoothing = 1.0 : f32} : tensor<4x8xf32>, tensor<4xi32> -> tensor<4xf32>
  return
}

// -----

func.func @cross_entropy(%x: tensor<4x8xf32>, %t: tensor<5xi32>) {
  // expected-error @+1 {{expects the same number of rows in 'tensor<4x8xf32>' (dimension 0) and 'tensor<5xi32>' (dimension 0)}}
  %0:2 = heddle.cross_entropy %x, %t {smoothing = 0.0 : f32} : tensor<4x8xf32>, tensor<5xi32> -> tensor<4xf32>
  return
}

// -----

func.func @cross_entropy(%x: tensor<4x8xf32>, %t: tensor<4xi32>, %lse: tensor<5xf32>) {
  // expected-error @+1 {{expects the same number of rows}}
  %0 = heddle.cross_entropy_grad %x, %t, %lse, %lse {smoothing = 0.0 : f32} : tensor<4x8xf32>, tensor<4xi32>, tensor<5xf32>
  return
}

// -----

func.func @cross_entropy(%x: tensor<4x8xf32>, %t: tensor<4xi32>, %lse: tensor<4xf32>) {
  // expected-error @+1 {{expects 'smoothing' in [0, 1), got -1}}
  %0 = heddle.cross_entropy_grad %x, %t, %lse, %lse {smoothing = -1.0 : f32} : tensor<4x8xf32>, tensor<4xi32>, tensor<4xf32>
  return
}

// -----

func.func @argmax(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{expects the same number of rows}}
  %0 = heddle.argmax %x : tensor<4x8xf32> -> tensor<8xi32>
  return
}

// -----

func.func @argmax(%x: tensor<4x?xf32>) {
  // expected-error @+1 {{expects a static number of columns}}
  %0 = heddle.argmax %x : tensor<4x?xf32> -> tensor<4xi32>
  return
}

// -----

func.func @scatter(%t: tensor<32x8xf32>, %i: tensor<4xi32>, %r: tensor<4x4xf32>) {
  // expected-error @+1 {{expects the same width}}
  %0 = heddle.scatter_add %t, %i, %r : tensor<32x8xf32>, tensor<4xi32>, tensor<4x4xf32>
  return
}

// -----

func.func @scatter(%t: tensor<32x8xf32>, %i: tensor<4xi32>, %r: tensor<5x8xf32>) {
  // expected-error @+1 {{expects the same number of rows}}
  %0 = heddle.scatter_rows %t, %i, %r : tensor<32x8xf32>, tensor<4xi32>, tensor<5x8xf32>
  return
}

// -----

func.func @project(%x: tensor<6x8xf32>, %w: tensor<16x4xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{expects at least one projection}}
  "heddle.project"(%x, %w, %b) : (tensor<6x8xf32>, tensor<16x4xf32>, tensor<8xf32>) -> ()
  return
}

// -----

func.func @project(%x: tensor<6x8xf32>, %w: tensor<16x4xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{expects projections of a single type, got 'tensor<6x4xf32>' and 'tensor<6x5xf32>'}}
  %0:2 = heddle.project %x, %w, %b : tensor<6x8xf32>, tensor<16x4xf32>, tensor<8xf32> -> tensor<6x4xf32>, tensor<6x5xf32>
  return
}

// -----

func.func @project(%x: tensor<6x8xf32>, %w: tensor<16x4xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{expects the same number of rows in 'tensor<6x8xf32>' (dimension 0) and 'tensor<7x4xf32>' (dimension 0)}}
  %0:2 = heddle.project %x, %w, %b : tensor<6x8xf32>, tensor<16x4xf32>, tensor<8xf32> -> tensor<7x4xf32>, tensor<7x4xf32>
  return
}

// -----

func.func @project(%x: tensor<6x8xf32>, %w: tensor<16x4xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{expects weights and biases of 2 projections from 'tensor<6x8xf32>' to 'tensor<6x4xf32>', got 'tensor<16x4xf32>' and 'tensor<4xf32>'}}
  %0:2 = heddle.project %x, %w, %b : tensor<6x8xf32>, tensor<16x4xf32>, tensor<4xf32> -> tensor<6x4xf32>, tensor<6x4xf32>
  return
}

// -----

func.func @project(%w: tensor<16x4xf32>) {
  // expected-error @+1 {{expects at least one projection}}
  %0 = "heddle.project_grad_input"(%w) : (tensor<16x4xf32>) -> tensor<6x8xf32>
  return
}

// -----

func.func @project(%w: tensor<16x4xf32>, %g: tensor<6x4xf32>) {
  // expected-error @+1 {{expects weights and biases of 1 projections from 'tensor<6x8xf32>' to 'tensor<6x4xf32>'}}
  %0 = heddle.project_grad_input %w, %g : tensor<16x4xf32>, tensor<6x4xf32> -> tensor<6x8xf32>
  return
}

// -----

func.func @project(%x: tensor<6x8xf32>, %g: tensor<6x4xf32>) {
  // expected-error @+1 {{expects weights and biases of 2 projections from 'tensor<6x8xf32>' to 'tensor<6x4xf32>'}}
  %0:2 = heddle.project_grad_weights %x, %g, %g : tensor<6x8xf32>, tensor<6x4xf32>, tensor<6x4xf32> -> tensor<8x4xf32>, tensor<8xf32>
  return
}

// -----

func.func @scatter(%t: tensor<32x8xf32>, %i: tensor<4xi32>, %r: tensor<4x8xi32>) {
  // expected-error @+1 {{expects the same element type in 'tensor<32x8xf32>' and 'tensor<4x8xi32>'}}
  %0 = heddle.scatter_rows %t, %i, %r : tensor<32x8xf32>, tensor<4xi32>, tensor<4x8xi32>
  return
}

// -----

func.func @top_k(%x: tensor<4x?xf32>, %s: tensor<2xi32>) {
  // expected-error @+1 {{expects a static number of columns}}
  %0:3 = heddle.top_k %x segments(%s, %s) {row_size = "beam"} : tensor<4x?xf32>, tensor<2xi32> -> tensor<2x3xf32>, tensor<2x3xi32>
  return
}

// -----

func.func @top_k(%x: tensor<4x8xf32>, %s: tensor<2xi32>) {
  // expected-error @+1 {{expects the same number of segments}}
  %0:3 = heddle.top_k %x segments(%s, %s) {row_size = "beam"} : tensor<4x8xf32>, tensor<2xi32> -> tensor<3x3xf32>, tensor<3x3xi32>
  return
}

// -----

func.func @top_k(%x: tensor<4x8xf32>, %s: tensor<2xi32>) {
  // expected-error @+1 {{expects the same number of results}}
  %0:3 = heddle.top_k %x segments(%s, %s) {row_size = "beam"} : tensor<4x8xf32>, tensor<2xi32> -> tensor<2x3xf32>, tensor<2x4xi32>
  return
}

// -----

func.func @top_k(%x: tensor<4x8xf32>, %s: tensor<2xi32>) {
  // expected-error @+1 {{expects to take 1 to 8 elements of a segment, got 9}}
  %0:3 = heddle.top_k %x segments(%s, %s) {row_size = "beam"} : tensor<4x8xf32>, tensor<2xi32> -> tensor<2x9xf32>, tensor<2x9xi32>
  return
}

// -----

func.func @find_first(%i: tensor<4xi32>) {
  // expected-error @+1 {{expects a single column of row numbers, got 'tensor<32x2xi32>'}}
  %0 = heddle.find_first %i : tensor<4xi32> -> tensor<32x2xi32>
  return
}

// -----

func.func @sum_equal(%i: tensor<4xi32>, %first: tensor<32x2xi32>, %r: tensor<4x8xf32>) {
  // expected-error @+1 {{expects a single column of row numbers, got 'tensor<32x2xi32>'}}
  %0 = heddle.sum_equal %i, %first, %r : tensor<4xi32>, tensor<32x2xi32>, tensor<4x8xf32>
  return
}

// -----

func.func @sum_equal(%i: tensor<4xi32>, %first: tensor<32x1xi32>, %r: tensor<5x8xf32>) {
  // expected-error @+1 {{expects the same number of rows}}
  %0 = heddle.sum_equal %i, %first, %r : tensor<4xi32>, tensor<32x1xi32>, tensor<5x8xf32>
  return
}

// -----

func.func @partial_sums(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{expects the same width}}
  %0 = heddle.partial_sums %x : tensor<4x8xf32> -> tensor<64x4xf32>
  return
}

// -----

func.func @partial_sums(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{expects a static number of columns, got 'tensor<4x?xf32, #heddle.dims<"n">>'}}
  %0 = heddle.partial_sums %x : tensor<4x8xf32> -> tensor<4x?xf32, #heddle.dims<"n">>
  return
}

// -----

func.func @partial_sums(%x: tensor<8xf32>) {
  // expected-error @+1 {{expects sums of the rows of a matrix, or of a column to a single column}}
  %0 = heddle.partial_sums %x : tensor<8xf32> -> tensor<64x1xf32>
  return
}
