// RUN: heddle-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile)'

!x = tensor<?x64xf32, #heddle.dims<"tokens">>
heddle.size @sequences max 64

func.func @undeclared_size(%x: !x) -> !x {
  // expected-error @+1 {{size 'tokens' is not declared; add heddle.size @tokens max N}}
  %e = math.exp %x : !x
  return %e : !x
}

// -----

!x = tensor<?x64xf32, #heddle.dims<"tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
heddle.size @tokens max 2048
heddle.size @sequences max 64

func.func @undeclared_length(%x: !x, %s: !segments) -> !x {
  // expected-error @+1 {{query_size 'length' is not declared}}
  %y, %lse = heddle.attention %x, %x, %x queries(%s, %s) keys(%s, %s)
    {heads = 4 : i64, scale = 0.25 : f32, query_size = "length", key_size = "length"}
    : (!x, !x, !x, !segments, !segments, !segments, !segments) -> (!x, tensor<?x4xf32, #heddle.dims<"tokens">>)
  return %y : !x
}

// -----

// A scatter takes one row after another, so no larger step would stay below the limit.
!x = tensor<?x64xf32, #heddle.dims<"tokens">>
!indices = tensor<?xi32, #heddle.dims<"tokens">>
heddle.size @tokens max 70000
heddle.variable @table gradient : tensor<100x64xf32>

func.func @too_many_iterations(%i: !indices, %x: !x) {
  %g = heddle.read @table : tensor<100x64xf32>
  // expected-error @+1 {{in kernel 'scatter_add': the kernel may run 70000 loop iterations in one invocation, but vulkan:software ends loops silently after 65535; lower the maximum that bounds the loop}}
  %r = heddle.scatter_add %g, %i, %x : tensor<100x64xf32>, !indices, !x
  heddle.write @table, %r : tensor<100x64xf32>
  return
}

// -----

!x = tensor<?xf32, #heddle.dims<"tokens">>
heddle.size @tokens max 600000

func.func @too_many_workgroups(%x: !x) -> !x {
  // expected-error @+1 {{in kernel 'exp': up to 75000 workgroups along axis 1, but vulkan:software starts at most 65535; lower the maximum of size tokens}}
  %e = math.exp %x : !x
  return %e : !x
}

// -----

heddle.size @tokens max 2048

func.func @both_sides_transposed(%a: tensor<16x32xf32>, %b: tensor<64x16xf32>) -> tensor<32x64xf32> {
  // expected-error @+1 {{in kernel 'matmul': a product with both sides transposed is not tiled; transpose the result instead}}
  %p = heddle.matmul %a, %b {transpose_lhs, transpose_rhs} : tensor<16x32xf32>, tensor<64x16xf32> -> tensor<32x64xf32>
  return %p : tensor<32x64xf32>
}

// -----

!heads = tensor<2x?x4xf32, #heddle.dims<"tokens">>
heddle.size @tokens max 2048

func.func @no_matrix(%x: !heads) -> !heads {
  // expected-error @+1 {{in kernel 'exp': a kernel works on matrices with a static number of columns, not on 'tensor<2x?x4xf32, #heddle.dims<"tokens">>'}}
  %e = math.exp %x : !heads
  return %e : !heads
}

// -----

!x = tensor<?x64xf32, #heddle.dims<"tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
heddle.size @tokens max 2048
heddle.size @sequences max 64
heddle.size @length max 256 longest "lengths"

func.func @mask_is_no_function(%x: !x, %s: !segments) -> !x {
  // expected-error @+1 {{in kernel 'attention': 'memref.alloca' in a region of attention is not elementwise}}
  %y, %lse = heddle.attention %x, %x, %x queries(%s, %s) keys(%s, %s) mask {
  ^bb0(%i: i32, %j: i32):
    %m = memref.alloca() : memref<i1>
    %c = memref.load %m[] : memref<i1>
    heddle.yield %c : i1
  } {heads = 4 : i64, scale = 0.25 : f32, query_size = "length", key_size = "length"}
    : (!x, !x, !x, !segments, !segments, !segments, !segments) -> (!x, tensor<?x4xf32, #heddle.dims<"tokens">>)
  return %y : !x
}

// -----

// A mask that leaves a band along the diagonal bounds the loop by the band's width, however long a sequence is.
!x = tensor<?x64xf32, #heddle.dims<"tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
heddle.size @tokens max 16777216
heddle.size @sequences max 64
heddle.size @length max 2000000 longest "lengths"
heddle.size @key_length max 16777216 longest "key_lengths"

func.func @band(%x: !x, %s: !segments) -> (!x, !x) {
  %y, %lse = heddle.attention %x, %x, %x queries(%s, %s) keys(%s, %s) mask {
  ^bb0(%i: i32, %j: i32):
    %far = arith.constant 64 : i32
    %d = arith.subi %i, %j : i32
    %a = math.absi %d : i32
    %c = arith.cmpi sle, %a, %far : i32
    heddle.yield %c : i1
  } {heads = 4 : i64, scale = 0.25 : f32, query_size = "length", key_size = "key_length"}
    : (!x, !x, !x, !segments, !segments, !segments, !segments) -> (!x, tensor<?x4xf32, #heddle.dims<"tokens">>)
  // expected-error @+1 {{in kernel 'attention': the kernel may run 65536 loop iterations in one invocation, but vulkan:software ends loops silently after 65535}}
  %z, %lse2 = heddle.attention %x, %x, %x queries(%s, %s) keys(%s, %s) mask {
  ^bb0(%i: i32, %j: i32):
    %far = arith.constant 64 : i32
    %d = arith.subi %i, %j : i32
    %c = arith.cmpi sle, %d, %far : i32
    heddle.yield %c : i1
  } {heads = 4 : i64, scale = 0.25 : f32, query_size = "length", key_size = "key_length"}
    : (!x, !x, !x, !segments, !segments, !segments, !segments) -> (!x, tensor<?x4xf32, #heddle.dims<"tokens">>)
  return %y, %z : !x, !x
}

// -----

!x = tensor<?x64xf32, #heddle.dims<"tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
!best = tensor<?x8xf32, #heddle.dims<"sequences">>
!places = tensor<?x8xi32, #heddle.dims<"sequences">>
heddle.size @tokens max 2048
heddle.size @sequences max 64

func.func @undeclared_row_size(%x: !x, %s: !segments) -> !best {
  // expected-error @+1 {{row_size 'longest' is not declared}}
  %v, %r, %c = heddle.top_k %x segments(%s, %s) {row_size = "longest"} : !x, !segments -> !best, !places
  return %v : !best
}

// -----

// An inner loop runs once for each iteration of the outer loop: 8 and 8 x 9000.
!x = tensor<?x64xf32, #heddle.dims<"tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
!best = tensor<?x8xf32, #heddle.dims<"sequences">>
!places = tensor<?x8xi32, #heddle.dims<"sequences">>
heddle.size @tokens max 18000
heddle.size @sequences max 64
heddle.size @longest max 9000 longest "lengths"

func.func @too_many_nested_iterations(%x: !x, %s: !segments) -> !best {
  // expected-error @+1 {{the kernel may run 72008 loop iterations in one invocation}}
  %v, %r, %c = heddle.top_k %x segments(%s, %s) {row_size = "longest"} : !x, !segments -> !best, !places
  return %v : !best
}

// -----

!x = tensor<?x32768xf32, #heddle.dims<"tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
!best = tensor<?x8xf32, #heddle.dims<"sequences">>
!places = tensor<?x8xi32, #heddle.dims<"sequences">>
heddle.size @tokens max 65536
heddle.size @sequences max 64
heddle.size @longest max 65536 longest "lengths"

func.func @too_many_elements(%x: !x, %s: !segments) -> !best {
  // expected-error @+1 {{a segment of 65536 rows of 32768 has more elements than an i32 can number; lower the maximum of size longest}}
  %v, %r, %c = heddle.top_k %x segments(%s, %s) {row_size = "longest"} : !x, !segments -> !best, !places
  return %v : !best
}

// -----

!x = tensor<?x37000xf32, #heddle.dims<"tokens">>
heddle.size @tokens max 65536

func.func @too_large(%x: !x) -> !x {
  // expected-error @+1 {{a matrix of up to 65536 x 37000 elements, and a kernel counts to 2^31; lower the maximum of its rows}}
  %e = math.exp %x : !x
  return %e : !x
}

// -----

!ids = tensor<?xi32, #heddle.dims<"tokens">>
heddle.size @tokens max 64

func.func @numbers_in_a_row(%i: !ids, %t: tensor<100xf32>) -> tensor<?xf32, #heddle.dims<"tokens">> {
  // expected-error @+1 {{in kernel 'embedding': heddle.embedding takes rows, and the numbers of 'tensor<100xf32>' lie in one row; make the table a matrix of one column}}
  %n = heddle.embedding %i, %t : !ids, tensor<100xf32> -> tensor<?xf32, #heddle.dims<"tokens">>
  return %n : tensor<?xf32, #heddle.dims<"tokens">>
}

// -----

heddle.variable @w weight : tensor<8x32xf32>
heddle.variable @m optimizer_state of @w as first_moment : tensor<8x32xf32> {sharded}
heddle.variable @s optimizer_state of @w as second_moment : tensor<8x32xf32> {sharded}

func.func @no_rows_of_a_rank(%g: tensor<8x32xf32>, %row: tensor<32xf32>, %r: tensor<1xf32>) -> tensor<8x32xf32> {
  %w = heddle.read @w : tensor<8x32xf32>
  %m = heddle.read @m : tensor<8x32xf32>
  %s = heddle.read @s : tensor<8x32xf32>
  %wide = heddle.broadcast %row : tensor<32xf32> to tensor<8x32xf32>
  // expected-error @+1 {{ranks cannot do a part each of this kernel, which updates a sharded state: it has other tensors than 'tensor<8x32xf32>' and single numbers, or is no elementwise kernel}}
  %scaled = arith.mulf %g, %wide : tensor<8x32xf32>
  %w2, %m2, %v2 = heddle.adam %w, %scaled, %m, %s rate %r corrections %r, %r scale %r
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32, sharded} : tensor<8x32xf32>
  return %w2 : tensor<8x32xf32>
}

// -----

heddle.variable @w weight : tensor<8x32xf32>
heddle.variable @m optimizer_state of @w as first_moment : tensor<8x32xf32> {sharded}
heddle.variable @s optimizer_state of @w as second_moment : tensor<8x32xf32>

func.func @one_moment_alone(%g: tensor<8x32xf32>, %r: tensor<1xf32>) -> tensor<8x32xf32> {
  %w = heddle.read @w : tensor<8x32xf32>
  %m = heddle.read @m : tensor<8x32xf32>
  %s = heddle.read @s : tensor<8x32xf32>
  // expected-error @+1 {{is sharded, and so should read its moments and average from sharded variables and write them there}}
  %w2, %m2, %v2 = heddle.adam %w, %g, %m, %s rate %r corrections %r, %r scale %r
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32, sharded} : tensor<8x32xf32>
  heddle.write @m, %m2 : tensor<8x32xf32>
  heddle.write @s, %v2 : tensor<8x32xf32>
  return %w2 : tensor<8x32xf32>
}

// -----

heddle.size @tokens max 64

func.func @panels(%x: tensor<?x64xf32, #heddle.dims<"tokens">>, %words: tensor<256x16xi32>, %scales: tensor<32x16xf32>) -> tensor<?x256xf32, #heddle.dims<"tokens">> {
  %w = heddle.dequantize %words scales(%scales) {bits = 8 : i64} : (tensor<256x16xi32>, tensor<32x16xf32>) -> tensor<64x256xf32>
  // expected-error @+1 {{has weights in panels of 16 columns, which its tiles cross; compile the model for this target from the beginning}}
  %0 = heddle.matmul %x, %w : tensor<?x64xf32, #heddle.dims<"tokens">>, tensor<64x256xf32> -> tensor<?x256xf32, #heddle.dims<"tokens">>
  return %0 : tensor<?x256xf32, #heddle.dims<"tokens">>
}
