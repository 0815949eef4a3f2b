// Attention of queries that are alone in their sequences: one kernel computes scores, weights and their sum, forward
// and backward.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels))' | FileCheck %s --check-prefix=FUSE
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-count-costs,heddle-tile,canonicalize,cse)' | FileCheck %s
heddle.size @tokens max 256
heddle.size @sequences max 16
heddle.size @length max 48
heddle.size @step max 16 of @sequences from 0
!rows = tensor<?x8xf32, #heddle.dims<"step">>
!tokens = tensor<?x8xf32, #heddle.dims<"tokens">>
!scores = tensor<?x2x48xf32, #heddle.dims<"step">>
!numbers = tensor<?xi32, #heddle.dims<"step">>

// FUSE-LABEL: func.func @forward
// FUSE: heddle.kernel "context_scores_mask_softmax"
// FUSE-NOT: heddle.kernel "
// FUSE: return

// A workgroup has one query of one head.
// CHECK-LABEL: func.func @forward
// CHECK: tile.launch @context_scores_mask_softmax_Tx8({{.*}}) grid [#tile.grid<"", 1, 1>, #tile.grid<"", 1, 2>, #tile.grid<"step", 1, 1>] sizes ["step"]
func.func @forward(%q: !rows, %k: !tokens, %v: !tokens, %ks: !numbers, %kl: !numbers) -> !rows {
  %number = heddle.iota : !numbers
  %one = heddle.fill 1 : i32 : !numbers
  %s = heddle.scores %q, %k queries(%number, %one) keys(%ks, %kl) {query_size = "", key_size = "length"}
      : (!rows, !tokens, !numbers, !numbers, !numbers, !numbers) -> !scores
  %m = heddle.mask %s at(%number, %number) keys(%kl) {value = 0xFF800000 : f32} : !scores, !numbers, !numbers
  %p = heddle.softmax %m : !scores
  %c = heddle.context %p, %v queries(%number, %one) keys(%ks, %kl) {query_size = "", key_size = "length"}
      : (!scores, !tokens, !numbers, !numbers, !numbers, !numbers) -> !rows
  return %c : !rows
}

// The gradient of the query. The gradient of the scores is also needed elsewhere.
// FUSE-LABEL: func.func @backward
// FUSE: heddle.kernel "scores_grad_query_scores_softmax_grad_mask"
// FUSE: heddle.yield %{{.*}}, %{{.*}} :
// FUSE-NOT: heddle.kernel "
// FUSE: return
func.func @backward(%g: !rows, %q: !rows, %k: !tokens, %v: !tokens, %p: !scores, %ks: !numbers, %kl: !numbers) -> (!rows, !scores) {
  %number = heddle.iota : !numbers
  %one = heddle.fill 1 : i32 : !numbers
  %gp = heddle.scores %g, %v queries(%number, %one) keys(%ks, %kl) {query_size = "", key_size = "length"}
      : (!rows, !tokens, !numbers, !numbers, !numbers, !numbers) -> !scores
  %gs = heddle.softmax_grad %p, %gp : !scores
  %gm = heddle.mask %gs at(%number, %number) keys(%kl) {value = 0.0 : f32} : !scores, !numbers, !numbers
  %gq = heddle.scores_grad_query %gm of %q, %k queries(%number, %one) keys(%ks, %kl) slope {
  ^bb0(%a: f32, %b: f32, %d: f32):
    %t = arith.mulf %b, %d : f32
    heddle.yield %t : f32
  } {query_size = "", key_size = "length"}
      : (!scores, !rows, !tokens, !numbers, !numbers, !numbers, !numbers) -> !rows
  return %gq, %gm : !rows, !scores
}

// Without a mask, softmax counts keys that do not exist, so these scores are in memory.
// FUSE-LABEL: func.func @unmasked
// FUSE-DAG: heddle.kernel "scores"
// FUSE-DAG: heddle.kernel "softmax"
// FUSE: heddle.kernel "context"
func.func @unmasked(%q: !rows, %k: !tokens, %v: !tokens, %ks: !numbers, %kl: !numbers) -> !rows {
  %number = heddle.iota : !numbers
  %one = heddle.fill 1 : i32 : !numbers
  %s = heddle.scores %q, %k queries(%number, %one) keys(%ks, %kl) {query_size = "", key_size = "length"}
      : (!rows, !tokens, !numbers, !numbers, !numbers, !numbers) -> !scores
  %p = heddle.softmax %s : !scores
  %c = heddle.context %p, %v queries(%number, %one) keys(%ks, %kl) {query_size = "", key_size = "length"}
      : (!scores, !tokens, !numbers, !numbers, !numbers, !numbers) -> !rows
  return %c : !rows
}

// Scores are in memory if they are an output, and if the values belong to other sequences.
// FUSE-LABEL: func.func @wanted
// FUSE: heddle.kernel "scores_mask"
// FUSE: heddle.kernel "softmax"
// FUSE: heddle.kernel "context"
func.func @wanted(%q: !rows, %k: !tokens, %v: !tokens, %ks: !numbers, %kl: !numbers) -> (!rows, !scores) {
  %number = heddle.iota : !numbers
  %one = heddle.fill 1 : i32 : !numbers
  %s = heddle.scores %q, %k queries(%number, %one) keys(%ks, %kl) {query_size = "", key_size = "length"}
      : (!rows, !tokens, !numbers, !numbers, !numbers, !numbers) -> !scores
  %m = heddle.mask %s at(%number, %number) keys(%kl) {value = 0xFF800000 : f32} : !scores, !numbers, !numbers
  %p = heddle.softmax %m : !scores
  %c = heddle.context %p, %v queries(%number, %one) keys(%ks, %kl) {query_size = "", key_size = "length"}
      : (!scores, !tokens, !numbers, !numbers, !numbers, !numbers) -> !rows
  return %c, %m : !rows, !scores
}
// FUSE-LABEL: func.func @elsewhere
// FUSE: heddle.kernel "scores_mask"
// FUSE: heddle.kernel "softmax"
// FUSE: heddle.kernel "context"
func.func @elsewhere(%q: !rows, %k: !tokens, %v: !tokens, %ks: !numbers, %kl: !numbers, %vs: !numbers) -> !rows {
  %number = heddle.iota : !numbers
  %one = heddle.fill 1 : i32 : !numbers
  %s = heddle.scores %q, %k queries(%number, %one) keys(%ks, %kl) {query_size = "", key_size = "length"}
      : (!rows, !tokens, !numbers, !numbers, !numbers, !numbers) -> !scores
  %m = heddle.mask %s at(%number, %number) keys(%kl) {value = 0xFF800000 : f32} : !scores, !numbers, !numbers
  %p = heddle.softmax %m : !scores
  %c = heddle.context %p, %v queries(%number, %one) keys(%vs, %kl) {query_size = "", key_size = "length"}
      : (!scores, !tokens, !numbers, !numbers, !numbers, !numbers) -> !rows
  return %c : !rows
}

// The row of 48 scores is in shared memory. One walk over the keys computes 8 scores at a time, their maximum and the sum of their
// powers, a second one the weights, and a third one the sum of 8 keys' values at a time.
// CHECK-LABEL: tile.func @context_scores_mask_softmax_Tx8(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<?x8xf32>, %[[K:[a-z0-9]+]]: memref<?x8xf32>
// CHECK: %[[ROW:.*]] = tile.shared : memref<1x48xf32
// CHECK: scf.if
// CHECK: scf.for
// CHECK: scf.for
// CHECK: tile.load %[[Q]]
// CHECK: tile.load %[[K]]
// CHECK: tile.store %[[S:.*]], %[[ROW]]
// CHECK: tile.reduce  max %[[S]] dim 1
// CHECK: math.exp
// CHECK: tile.reduce  sum
// CHECK: math.fma
// CHECK: tile.wait
// CHECK: arith.divf
// CHECK: scf.for
// CHECK: tile.load %[[ROW]]
// CHECK: math.exp
// CHECK: tile.store %{{.*}}, %[[ROW]]
// CHECK: tile.wait
// CHECK: scf.for
// CHECK: tile.load %[[ROW]]{{.*}} {transposed}
// CHECK: tile.reduce  sum {{.*}} dim 0
// CHECK: tile.return
// The backward kernel first sums the products of weights and their gradients. It computes no powers.
// CHECK-LABEL: tile.func @scores_grad_query_scores_softmax_grad_mask_Tx8(
// CHECK: tile.shared
// CHECK-NOT: math.exp
// CHECK: tile.reduce  sum {{.*}} dim 1
// CHECK: tile.wait
// CHECK-NOT: math.exp
// CHECK: arith.subf
// CHECK: tile.wait
// CHECK: tile.reduce  sum {{.*}} dim 0
// CHECK: tile.return
