// Kernels that are written by hand or by other passes, and that heddle-fuse-kernels does not make.
// RUN: heddle-opt %s --heddle-tile --split-input-file --verify-diagnostics

func.func @no_results(%x: tensor<8x8xf32>) {
  // expected-error @+1 {{in kernel 'print': a kernel makes at least one result, and this one makes nothing}}
  heddle.kernel "print"(%x : tensor<8x8xf32>) {
  ^bb0(%a: tensor<8x8xf32>):
    heddle.yield
  }
  return
}

// -----

func.func @computed_table(%x: tensor<8x8xf32>, %i: tensor<8xi32>) -> tensor<8x8xf32> {
  // expected-error @+1 {{in kernel 'rows': an op reads other elements of a 'tensor<8x8xf32>' than its own; make that an input of the kernel}}
  %r = heddle.kernel "rows"(%x, %i : tensor<8x8xf32>, tensor<8xi32>) -> tensor<8x8xf32> {
  ^bb0(%a: tensor<8x8xf32>, %b: tensor<8xi32>):
    %table = arith.addf %a, %a : tensor<8x8xf32>
    %rows = heddle.embedding %b, %table : tensor<8xi32>, tensor<8x8xf32> -> tensor<8x8xf32>
    heddle.yield %rows : tensor<8x8xf32>
  }
  return %r : tensor<8x8xf32>
}

// -----

#n = #heddle.dims<"n">
!scores = tensor<?x2x16xf32, #n>
!x = tensor<?x8xf32, #n>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
heddle.size @n max 64
heddle.size @sequences max 8
heddle.size @length max 16
func.func @computed_weights(%w: !scores, %x: !x, %s: !segments, %l: !segments) -> !x {
  // expected-error @+1 {{in kernel 'context': an op reads other elements of a 'tensor<?x2x16xf32, #heddle.dims<"n">>' than its own; make that an input of the kernel}}
  %r = heddle.kernel "context"(%w, %x, %s, %l : !scores, !x, !segments, !segments) -> !x {
  ^bb0(%a: !scores, %b: !x, %c: !segments, %d: !segments):
    %weights = arith.addf %a, %a : !scores
    %y = heddle.context %weights, %b queries(%c, %d) keys(%c, %d) {key_size = "length", query_size = "length"}
      : (!scores, !x, !segments, !segments, !segments, !segments) -> !x
    heddle.yield %y : !x
  }
  return %r : !x
}

// -----

func.func @computed_destination(%x: tensor<8x8xf32>, %i: tensor<8xi32>) -> tensor<8x8xf32> {
  %r = heddle.kernel "scatter"(%x, %i : tensor<8x8xf32>, tensor<8xi32>) -> tensor<8x8xf32> {
  ^bb0(%a: tensor<8x8xf32>, %b: tensor<8xi32>):
    %old = arith.addf %a, %a : tensor<8x8xf32>
    // expected-error @+1 {{'heddle.scatter_rows' changes a tensor in place, which should be an input of the kernel}}
    %new = heddle.scatter_rows %old, %b, %a : tensor<8x8xf32>, tensor<8xi32>, tensor<8x8xf32>
    heddle.yield %new : tensor<8x8xf32>
  }
  return %r : tensor<8x8xf32>
}

// -----

func.func @condition(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-error @+1 {{in kernel 'select': 'arith.constant' cannot be computed tile by tile}}
  %r = heddle.kernel "select"(%x : tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%a: tensor<8x8xf32>):
    %c = arith.constant true
    %0 = arith.addf %a, %a : tensor<8x8xf32>
    %1 = arith.select %c, %0, %a : tensor<8x8xf32>
    heddle.yield %1 : tensor<8x8xf32>
  }
  return %r : tensor<8x8xf32>
}

// -----

func.func @truth_values(%x: tensor<8x8xf32>) -> tensor<8x8xi1> {
  // expected-error @+1 {{in kernel 'compare': truth values are not stored, and the kernel takes or makes a 'tensor<8x8xi1>'}}
  %r = heddle.kernel "compare"(%x : tensor<8x8xf32>) -> tensor<8x8xi1> {
  ^bb0(%a: tensor<8x8xf32>):
    %0 = arith.cmpf olt, %a, %a : tensor<8x8xf32>
    heddle.yield %0 : tensor<8x8xi1>
  }
  return %r : tensor<8x8xi1>
}

// -----

func.func @nothing(%x: tensor<0x4xf32>) -> tensor<0x4xf32> {
  // expected-error @+1 {{in kernel 'exp': a kernel works on matrices with a static number of columns, not on 'tensor<0x4xf32>'}}
  %r = heddle.kernel "exp"(%x : tensor<0x4xf32>) -> tensor<0x4xf32> {
  ^bb0(%a: tensor<0x4xf32>):
    %0 = math.exp %a : tensor<0x4xf32>
    heddle.yield %0 : tensor<0x4xf32>
  }
  return %r : tensor<0x4xf32>
}

// -----

// Matmuls that are not added may share a kernel only on tensor cores, with a tile of one matmul for each workgroup.
!half = tensor<64x64xbf16>
func.func @lanes(%x: !half) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  // expected-error @+1 {{in kernel 'matmuls': matmuls that are not added up are not alike, or are not for tensor cores}}
  %r:2 = heddle.kernel "matmuls"(%x : !half) -> tensor<64x64xf32>, tensor<64x64xf32> {
  ^bb0(%a: !half):
    %y = heddle.matmul %a, %a : !half, !half -> tensor<64x64xf32>
    %z = heddle.matmul %a, %a : !half, !half -> tensor<64x64xf32>
    heddle.yield %y, %z : tensor<64x64xf32>, tensor<64x64xf32>
  }
  return %r#0, %r#1 : tensor<64x64xf32>, tensor<64x64xf32>
}

// -----

// Lanes do not hold whole heads of a matmul's result.
!x = tensor<?x64xf32, #heddle.dims<"n">>
!heads = tensor<?x4xf32, #heddle.dims<"n">>
heddle.size @n max 64
func.func @delta(%x: !x, %w: tensor<64x64xf32>) -> (!x, !heads) {
  // expected-error @+1 {{in kernel 'matmul_delta': the matmul's tiles do not have whole heads of 16 columns}}
  %r:2 = heddle.kernel "matmul_delta"(%x, %w : !x, tensor<64x64xf32>) -> !x, !heads {
  ^bb0(%a: !x, %b: tensor<64x64xf32>):
    %y = heddle.matmul %a, %b : !x, tensor<64x64xf32> -> !x
    %d = heddle.attention_delta %a, %y : !x -> !heads
    heddle.yield %y, %d : !x, !heads
  }
  return %r#0, %r#1 : !x, !heads
}
