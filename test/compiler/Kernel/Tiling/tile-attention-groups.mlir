// Grouped-query attention with three query heads for each key head: a query has a row for each of the three, so each
// loaded key serves all of them. A tile may end between the rows of a query.
// RUN: heddle-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile)' | FileCheck %s
// RUN: heddle-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=vulkan:portable})' | FileCheck %s --check-prefix=BLOCKS
// RUN: heddle-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=vulkan:amd})' | FileCheck %s --check-prefix=WIDE
// RUN: heddle-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(heddle-set-precision{precision=bf16},heddle-fuse-kernels),heddle-tile{target=cuda:sm_90a})' | FileCheck %s --check-prefix=TENSOR

!q = tensor<?x96xf32, #heddle.dims<"tokens">>
!k = tensor<?x32xf32, #heddle.dims<"tokens">>
!heads = tensor<?x6xf32, #heddle.dims<"tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
heddle.size @tokens max 16384
heddle.size @sequences max 64
heddle.size @length max 4096 longest "lengths"

// CHECK-LABEL: func.func @causal(
// CHECK: tile.launch @attention_Tx96({{.*}} grid [#tile.grid<"length", 10, 1>, #tile.grid<"", 1, 2>, #tile.grid<"sequences", 1, 1>]
// CHECK-LABEL: tile.func @attention_Tx96(
// CHECK: %[[BLOCK:.*]] = gpu.block_id x
// CHECK: %[[GROUP:.*]] = gpu.block_id y
// CHECK: %[[HEAD:.*]] = arith.muli %[[GROUP]], %c3
// CHECK: %[[START:.*]] = arith.muli %{{.*}}, %c3
// CHECK: %[[LENGTH:.*]] = arith.muli %{{.*}}, %c3
// CHECK: %[[FIRST:.*]] = arith.muli %[[BLOCK]], %c32
// CHECK: %[[ROW:.*]] = arith.addi %[[START]], %[[FIRST]]
// CHECK: %[[COLUMN:.*]] = arith.muli %[[HEAD]], %c16
// CHECK: %[[END:.*]] = arith.addi %[[START]], %[[LENGTH]]
// CHECK: tile.load %{{.*}}[%[[ROW]], %[[COLUMN]]] rows(%[[END]]) {any_padding, apart = 16 : i64, members = 3 : i64} : memref<?x96xf32> -> tensor<32x16xf32>
// The mask depends on queries. 32 rows belong to at most 12 queries.
// CHECK: %[[QUERY:.*]] = arith.divui %[[FIRST]], %c3
// CHECK: arith.addi %[[QUERY]], %c12
// CHECK: %[[ROWS:.*]] = tile.index %[[FIRST]] dim 0 : tensor<32x1xi32>
// CHECK: arith.divui %[[ROWS]], %{{.*}} : tensor<32x1xi32>
// CHECK: scf.for
// CHECK:   tile.load %{{.*}} : memref<?x32xf32> -> tensor<8x16xf32>
// CHECK: tile.store %{{.*}}[%[[ROW]], %[[COLUMN]]] rows(%[[END]]) {apart = 16 : i64, members = 3 : i64} : tensor<32x16xf32>
// CHECK: tile.store %{{.*}}[%[[ROW]], %[[HEAD]]] rows(%[[END]]) {apart = 1 : i64, members = 3 : i64} : tensor<32x1xf32>

// A GPU with larger workgroups has twice as many lanes in one, and so twice as many rows for the keys in shared memory.
// BLOCKS-LABEL: tile.func @attention_Tx96(
// BLOCKS-SAME: workgroup = 128
// BLOCKS: tile.load %{{.*}} {any_padding, apart = 16 : i64, members = 3 : i64} : memref<?x96xf32>

// WIDE-LABEL: tile.func @attention_Tx96(
// WIDE-SAME: workgroup = 256
// WIDE: tile.load %{{.*}} {any_padding, apart = 16 : i64, members = 3 : i64} : memref<?x96xf32> -> tensor<128x16xf32>

// TENSOR-LABEL: tile.func @attention_Tx96(
// TENSOR-SAME: workgroup = 256
// TENSOR: tile.load %{{.*}} {any_padding, apart = 16 : i64, members = 3 : i64} : memref<?x96xbf16> -> tensor<256x16xbf16>
func.func @causal(%q: !q, %k: !k, %s: !segments, %l: !segments) -> (!q, !heads) {
  %y, %lse = heddle.attention %q, %k, %k queries(%s, %l) keys(%s, %l) mask {
  ^bb0(%i: i32, %j: i32):
    %c = arith.cmpi sle, %j, %i : i32
    heddle.yield %c : i1
  } {heads = 6 : i64, scale = 0.25 : f32, query_size = "length", key_size = "length"}
    : (!q, !k, !k, !segments, !segments, !segments, !segments) -> (!q, !heads)
  return %y, %lse : !q, !heads
}

// -----

!q = tensor<?x96xf32, #heddle.dims<"tokens">>
!k = tensor<?x32xf32, #heddle.dims<"tokens">>
!heads = tensor<?x6xf32, #heddle.dims<"tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
!seed = tensor<2xi32>
!step = tensor<1xi32>
heddle.size @tokens max 16384
heddle.size @sequences max 64
heddle.size @length max 4096 longest "lengths"

// The same for the gradient of queries. Scores depend on their head, and random numbers on its stream.
// CHECK-LABEL: tile.func @attention_grad_query_Tx96(
// CHECK: tile.load %{{.*}} {any_padding, apart = 16 : i64, members = 3 : i64} : memref<?x96xf32>
// CHECK: tile.load %{{.*}} {any_padding, apart = 16 : i64, members = 3 : i64} : memref<?x96xf32>
// CHECK: tile.load %{{.*}} {any_padding, apart = 1 : i64, members = 3 : i64} : memref<?x6xf32>
// CHECK: tile.load %{{.*}} {any_padding, apart = 1 : i64, members = 3 : i64} : memref<?x6xf32>
// CHECK: scf.for
// CHECK:   tile.random {{.*}} streams %{{.*}} : tensor<
// BLOCKS-LABEL: tile.func @attention_grad_query_Tx96(
// WIDE-LABEL: tile.func @attention_grad_query_Tx96(
// TENSOR-LABEL: tile.func @attention_grad_query_Tx96(
func.func @gradient(%q: !q, %k: !k, %g: !q, %lse: !heads, %d: !heads, %s: !segments, %l: !segments, %seed: !seed, %step: !step) -> !q {
  %y = heddle.attention_grad_query %q, %k, %k gradient %g, %lse, %d queries(%s, %l) keys(%s, %l) dropout(%seed, %step)
    {heads = 6 : i64, scale = 0.25 : f32, query_size = "length", key_size = "length", dropout = 0.1 : f32, stream = 1 : i32}
    : (!q, !k, !k, !q, !heads, !heads, !segments, !segments, !segments, !segments, !seed, !step) -> !q
  return %y : !q
}

// -----

!q = tensor<?x96xf32, #heddle.dims<"tokens">>
!k = tensor<?x32xf32, #heddle.dims<"tokens">>
!heads = tensor<?x6xf32, #heddle.dims<"tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
heddle.size @tokens max 16384
heddle.size @sequences max 64
heddle.size @length max 4096 longest "lengths"

// The bias is read at the result's places, but rows of a group are at other places. So a workgroup has one head.
// TENSOR-LABEL: tile.func @attention_addf_Tx96(
// TENSOR-NOT: members
func.func @biased(%q: !q, %k: !k, %bias: tensor<96xf32>, %s: !segments, %l: !segments) -> !q {
  %y, %lse = heddle.attention %q, %k, %k queries(%s, %l) keys(%s, %l)
    {heads = 6 : i64, scale = 0.25 : f32, query_size = "length", key_size = "length"}
    : (!q, !k, !k, !segments, !segments, !segments, !segments) -> (!q, !heads)
  %wide = heddle.broadcast %bias : tensor<96xf32> to !q
  %sum = arith.addf %y, %wide : !q
  return %sum : !q
}
