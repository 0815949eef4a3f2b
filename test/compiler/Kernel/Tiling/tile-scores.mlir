// Attention with its scores in memory: workgroups and loops of fused attention, a row of 32 keys for each query and head.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-count-costs,heddle-tile,canonicalize,cse)' | FileCheck %s
heddle.size @tokens max 256
heddle.size @sequences max 16
heddle.size @length max 32
!tokens = tensor<?x8xf32, #heddle.dims<"tokens">>
!scores = tensor<?x2x32xf32, #heddle.dims<"tokens">>
!indices = tensor<?xi32, #heddle.dims<"tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>

// Scale and mask are in the scores' kernel, and dropout in the softmax's. A kernel's operations count existing pairs
// only, and its memory traffic all elements: 2 x 32 numbers for each token.
// CHECK-LABEL: func.func @attention
// CHECK: tile.launch @locate_T({{.*}}) grid [#tile.grid<"length", 8, 1>, #tile.grid<"sequences", 1, 1>,
// CHECK: %[[SCORES:.*]] = tile.launch @scores_mulf_mask_Tx2x32({{.*}}) grid [#tile.grid<"length", 32, 1>, #tile.grid<"", 1, 2>, #tile.grid<"sequences", 1, 1>]
// CHECK-SAME: flops[<16 pairs<"lengths", "lengths" max 8192>>, <64["tokens"]>]model[<16 pairs<"lengths", "lengths" max 8192>>]
// CHECK-SAME: infinities
// CHECK: %[[WEIGHTS:.*]] = tile.launch @softmax_dropout_Tx2x32(%[[SCORES]], {{.*}}) grid [#tile.grid<"tokens", 8, 1>, #tile.grid<"", 1, 2>, {{.*}} reuse [0]
// CHECK-SAME: bytes[<512["tokens"]>, <12>]
// CHECK: tile.launch @context_Tx8(%[[WEIGHTS]],
// CHECK: tile.launch @transposed_context_Tx8(%[[WEIGHTS]],
func.func @attention(%x: !tokens {heddle.name = "x"}, %starts: !segments {heddle.name = "starts"},
                     %lengths: !segments {heddle.name = "lengths"}, %seed: tensor<2xi32> {heddle.name = "seed"},
                     %step: tensor<1xi32> {heddle.name = "step"})
    -> (!tokens {heddle.name = "y"}, !tokens {heddle.name = "z"}) {
  %position, %sequence = heddle.locate rows(%starts, %lengths) {row_size = "length"} : !segments -> !indices
  %product = heddle.scores %x, %x queries(%starts, %lengths) keys(%starts, %lengths) {query_size = "length", key_size = "length"}
    : (!tokens, !tokens, !segments, !segments, !segments, !segments) -> !scores
  %half = heddle.fill 0.5 : f32 : !scores
  %scaled = arith.mulf %product, %half : !scores
  %masked = heddle.mask %scaled at(%position, %sequence) keys(%lengths) mask {
  ^bb0(%i: i32, %j: i32):
    %counts = arith.cmpi sle, %j, %i : i32
    heddle.yield %counts : i1
  } {value = 0xFF800000 : f32} : !scores, !indices, !segments
  %weights = heddle.softmax %masked : !scores
  %kept = heddle.dropout %weights seed %seed step %step {rate = 0.25 : f32, stream = 3 : i32} : !scores
  %y = heddle.context %kept, %x queries(%starts, %lengths) keys(%starts, %lengths) {query_size = "length", key_size = "length"}
    : (!scores, !tokens, !segments, !segments, !segments, !segments) -> !tokens
  %z = heddle.transposed_context %kept, %x queries(%starts, %lengths) keys(%starts, %lengths) {query_size = "length", key_size = "length"}
    : (!scores, !tokens, !segments, !segments, !segments, !segments) -> !tokens
  return %y, %z : !tokens, !tokens
}

// Each row's index in its sequence, and the sequence's number, are stored at the sequence's rows.
// CHECK-LABEL: tile.func @locate_T
// CHECK: %[[FIRST:.*]] = arith.muli %block_id_x, %c8
// CHECK: %[[TO:.*]] = arith.addi %[[START:.*]], %[[FIRST]]
// CHECK: %[[POSITION:.*]] = tile.index %[[FIRST]] dim 0
// CHECK: tile.store %[[POSITION]], %{{.*}}[%[[TO]], %c0

// Steps up to the sequence's length are matmuls, and the rest of the 32 keys is zero. Both are masked, at their places
// in the head's 32 columns.
// CHECK-LABEL: tile.func @scores_mulf_mask_Tx2x32
// CHECK: scf.for %[[AT:.*]] = %c0 to %[[LENGTH:.*]] step %c8
// CHECK: %[[PRODUCTS:.*]] = tile.dot %{{.*}} {transpose_rhs} : tensor<32x4xf32>, tensor<8x4xf32>
// CHECK: arith.select %{{.*}}, %[[PRODUCTS]],
// CHECK: tile.gather
// CHECK: arith.cmpi slt, %{{.*}}, %{{.*}} : tensor<32x8xi32>
// CHECK: arith.cmpi sle, %{{.*}}, %{{.*}} : tensor<32x8xi32>
// CHECK: %[[SCALED:.*]] = arith.mulf
// CHECK: %[[MASKED:.*]] = arith.select %{{.*}}, %[[SCALED]], %{{.*}} : tensor<32x8xi1>, tensor<32x8xf32>
// CHECK: tile.store %[[MASKED]], %{{.*}} rows(
// CHECK: }
// CHECK: %[[VISITED:.*]] = arith.muli %{{.*}}, %c8
// CHECK: scf.for %{{.*}} = %[[VISITED]] to %c32 step %c8
// CHECK-NOT: tile.dot
// CHECK: tile.store

// Each head has a stream of random numbers.
// CHECK-LABEL: tile.func @softmax_dropout_Tx2x32
// CHECK: %[[HEAD:.*]] = gpu.block_id y
// CHECK: %[[COLUMN:.*]] = arith.remui %{{.*}}, %c32
// CHECK: arith.shli %{{.*}}, %c16_i32
// CHECK: %[[H:.*]] = arith.index_cast %[[HEAD]]
// CHECK: %[[STREAM:.*]] = arith.addi %{{.*}}, %[[H]]
// CHECK: tile.index %[[COLUMN]] dim 1
// CHECK: tile.random {{.*}} stream %[[STREAM]]

// A workgroup owns queries, or keys. Elements that belong to no pair count as zero.
// CHECK-LABEL: tile.func @context_Tx8
// CHECK: tile.load %arg0[%{{.*}}] rows(%{{.*}}) {any_padding} : memref<?x64xf32> -> tensor<32x8xf32>
// CHECK: %[[WEIGHTS:.*]] = arith.select
// CHECK: tile.dot %[[WEIGHTS]], %{{.*}} : tensor<32x8xf32>, tensor<8x4xf32> -> tensor<32x4xf32>
// CHECK-LABEL: tile.func @transposed_context_Tx8
// CHECK: tile.load %arg0[%{{.*}}] rows(%{{.*}}) columns(%{{.*}}) {any_padding, transposed} : memref<?x64xf32> -> tensor<32x8xf32>
// CHECK: tile.dot
