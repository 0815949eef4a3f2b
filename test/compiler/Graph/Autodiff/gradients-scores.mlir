// RUN: heddle-opt %s --heddle-differentiate | FileCheck %s

!source = tensor<?x8xf32, #heddle.dims<"source">>
!target = tensor<?x8xf32, #heddle.dims<"target">>
!scores = tensor<?x2x16xf32, #heddle.dims<"target">>
!indices = tensor<?xi32, #heddle.dims<"target">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>

heddle.variable @w weight : tensor<8x8xf32>
heddle.variable @grad.w gradient of @w as gradient : tensor<8x8xf32>

// Attention with its scores in memory: each of its two matmuls is in the other's gradient, with a third one that is
// transposed.
// CHECK-LABEL: func.func @attention
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32, #heddle.dims<"target">>, %[[MEMORY:.*]]: tensor<?x8xf32, #heddle.dims<"source">>
func.func @attention(%x: !target, %memory: !source, %qs: !segments, %ql: !segments, %ks: !segments, %kl: !segments) {
  %w = heddle.read @w : tensor<8x8xf32>
  // CHECK: %[[Q:.*]] = heddle.matmul %[[X]]
  // CHECK-NEXT: %[[K:.*]] = heddle.matmul %[[MEMORY]]
  %q = heddle.matmul %x, %w : !target, tensor<8x8xf32> -> !target
  %k = heddle.matmul %memory, %w : !source, tensor<8x8xf32> -> !source
  // CHECK-NEXT: heddle.scores %[[Q]], %[[K]] queries(%[[QS:.*]], %[[QL:.*]]) keys(%[[KS:.*]], %[[KL:.*]]) {key_size = "source_length", query_size = "target_length"}
  %s = heddle.scores %q, %k queries(%qs, %ql) keys(%ks, %kl) {query_size = "target_length", key_size = "source_length"}
    : (!target, !source, !segments, !segments, !segments, !segments) -> !scores
  // CHECK-NEXT: %[[POSITION:.*]], %[[SEQUENCE:.*]] = heddle.locate
  %position, %sequence = heddle.locate rows(%qs, %ql) {row_size = "target_length"} : !segments -> !indices
  %m = heddle.mask %s at(%position, %sequence) keys(%kl) mask {
  ^bb0(%i: i32, %j: i32):
    %counts = arith.cmpi sge, %i, %j : i32
    heddle.yield %counts : i1
  } {value = 0xFF800000 : f32} : !scores, !indices, !segments
  // CHECK: %[[WEIGHTS:.*]] = heddle.softmax
  %p = heddle.softmax %m : !scores
  %o = heddle.context %p, %k queries(%qs, %ql) keys(%ks, %kl) {query_size = "target_length", key_size = "source_length"}
    : (!scores, !source, !segments, !segments, !segments, !segments) -> !target
  %r = heddle.sum rows %o : !target -> tensor<8xf32>
  %loss = heddle.sum columns %r : tensor<8xf32> -> tensor<1xf32>
  // CHECK: %[[DO:.*]] = heddle.broadcast %{{.*}} to tensor<?x8xf32, #heddle.dims<"target">>
  // CHECK-NEXT: %[[DP:.*]] = heddle.scores %[[DO]], %[[K]] queries(%[[QS]], %[[QL]]) keys(%[[KS]], %[[KL]]) {key_size = "source_length", query_size = "target_length"}
  // CHECK-NEXT: %[[DV:.*]] = heddle.transposed_context %[[WEIGHTS]], %[[DO]] queries(%[[QS]], %[[QL]]) keys(%[[KS]], %[[KL]]) {key_size = "source_length", query_size = "target_length"}
  // CHECK-NEXT: %[[DM:.*]] = heddle.softmax_grad %[[WEIGHTS]], %[[DP]]
  // CHECK-NEXT: %[[DS:.*]] = heddle.mask %[[DM]] at(%[[POSITION]], %[[SEQUENCE]]) keys(%[[KL]]) mask {
  // CHECK: arith.cmpi sge
  // CHECK: } {value = 0.000000e+00 : f32}
  // CHECK-NEXT: %[[DQ:.*]] = heddle.context %[[DS]], %[[K]] queries(%[[QS]], %[[QL]]) keys(%[[KS]], %[[KL]]) {key_size = "source_length", query_size = "target_length"}
  // CHECK-NEXT: %[[DK:.*]] = heddle.transposed_context %[[DS]], %[[Q]] queries(%[[QS]], %[[QL]]) keys(%[[KS]], %[[KL]]) {key_size = "source_length", query_size = "target_length"}
  // CHECK-NEXT: %[[DKV:.*]] = arith.addf %[[DV]], %[[DK]]
  // CHECK-NEXT: heddle.matmul %[[MEMORY]], %[[DKV]] {transpose_lhs}
  // CHECK-NEXT: heddle.matmul %[[X]], %[[DQ]] {transpose_lhs}
  heddle.accumulate %loss
  return
}
