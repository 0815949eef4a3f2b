// If each sequence has one query, the starts and lengths of queries need no memory: kernels on pairs number sequences
// themselves.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels))' | FileCheck %s

!rows = tensor<?x8xf32, #heddle.dims<"step">>
!tokens = tensor<?x8xf32, #heddle.dims<"tokens">>
!scores = tensor<?x2x32xf32, #heddle.dims<"step">>
!numbers = tensor<?xi32, #heddle.dims<"step">>

// All kernels on pairs. The starts and lengths of keys still come from memory.
// CHECK-LABEL: func.func @alone(
// CHECK-NOT: heddle.kernel "iota
// CHECK-NOT: heddle.kernel "fill
// CHECK: heddle.kernel "scores"(%arg0, %arg1, %arg2, %arg3 :
// CHECK: %[[N:.*]] = heddle.iota
// CHECK: %[[ONE:.*]] = heddle.fill 1 : i32
// CHECK: heddle.scores %{{.*}}, %{{.*}} queries(%[[N]], %[[ONE]])
// CHECK: heddle.kernel "context"(
// CHECK: heddle.iota
// CHECK: heddle.context
// CHECK: heddle.kernel "transposed_context"(
// CHECK: heddle.iota
// CHECK: heddle.transposed_context
// CHECK: heddle.kernel "scores_grad_query"(
// CHECK: heddle.iota
// CHECK: heddle.scores_grad_query
// CHECK: heddle.kernel "scores_grad_key"(
// CHECK: heddle.iota
// CHECK: heddle.scores_grad_key
// CHECK-NOT: heddle.kernel
func.func @alone(%q: !rows, %k: !tokens, %ks: !numbers, %kl: !numbers) -> (!rows, !tokens, !rows, !tokens) {
  %number = heddle.iota : !numbers
  %one = heddle.fill 1 : i32 : !numbers
  %s = heddle.scores %q, %k queries(%number, %one) keys(%ks, %kl) {query_size = "", key_size = "length"}
    : (!rows, !tokens, !numbers, !numbers, !numbers, !numbers) -> !scores
  %c = heddle.context %s, %k queries(%number, %one) keys(%ks, %kl) {query_size = "", key_size = "length"}
    : (!scores, !tokens, !numbers, !numbers, !numbers, !numbers) -> !rows
  %t = heddle.transposed_context %s, %q queries(%number, %one) keys(%ks, %kl) {query_size = "", key_size = "length"}
    : (!scores, !rows, !numbers, !numbers, !numbers, !numbers) -> !tokens
  %dq = heddle.scores_grad_query %s of %q, %k queries(%number, %one) keys(%ks, %kl) slope {
  ^bb0(%a: f32, %b: f32, %g: f32):
    heddle.yield %g : f32
  } {query_size = "", key_size = "length"} : (!scores, !rows, !tokens, !numbers, !numbers, !numbers, !numbers) -> !rows
  %dk = heddle.scores_grad_key %s of %q, %k queries(%number, %one) keys(%ks, %kl) slope {
  ^bb0(%a: f32, %b: f32, %g: f32):
    heddle.yield %g : f32
  } {query_size = "", key_size = "length"} : (!scores, !rows, !tokens, !numbers, !numbers, !numbers, !numbers) -> !tokens
  return %c, %t, %dq, %dk : !rows, !tokens, !rows, !tokens
}

// Starts that are an output are in memory. The kernels on pairs, and those that compute their indices, do not read them
// from there.
// CHECK-LABEL: func.func @elsewhere(
// CHECK: heddle.kernel "scores"(%arg0, %arg1, %arg2, %arg3 :
// CHECK: %[[I:.*]] = heddle.iota
// CHECK: heddle.scores %{{.*}}, %{{.*}} queries(%[[I]], %{{.*}})
// CHECK: heddle.kernel "embedding"(%arg0 :
// CHECK: %[[N:.*]] = heddle.kernel "iota"()
// CHECK: return %{{.*}}, %{{.*}}, %[[N]]
func.func @elsewhere(%q: !rows, %k: !tokens, %ks: !numbers, %kl: !numbers) -> (!scores, !rows, !numbers) {
  %number = heddle.iota : !numbers
  %one = heddle.fill 1 : i32 : !numbers
  %s = heddle.scores %q, %k queries(%number, %one) keys(%ks, %kl) {query_size = "", key_size = "length"}
    : (!rows, !tokens, !numbers, !numbers, !numbers, !numbers) -> !scores
  %rows = heddle.embedding %number, %q : !numbers, !rows -> !rows
  return %s, %rows, %number : !scores, !rows, !numbers
}

// Starts computed by arithmetic are in memory: a kernel on pairs only replaces iotas and constants.
// CHECK-LABEL: func.func @computed(
// CHECK: %[[TWICE:.*]] = heddle.kernel "addi"
// CHECK: heddle.kernel "scores"(%arg0, %arg1, %[[TWICE]], %arg2, %arg3 :
// CHECK: %[[TWO:.*]] = heddle.fill 2 : i32
// CHECK: heddle.scores %{{.*}}, %{{.*}} queries(%{{.*}}, %[[TWO]])
func.func @computed(%q: !tokens, %k: !tokens, %ks: !numbers, %kl: !numbers) -> tensor<?x2x32xf32, #heddle.dims<"tokens">> {
  %number = heddle.iota : !numbers
  %two = heddle.fill 2 : i32 : !numbers
  %twice = arith.addi %number, %number : !numbers
  %s = heddle.scores %q, %k queries(%twice, %two) keys(%ks, %kl) {query_size = "length", key_size = "length"}
    : (!tokens, !tokens, !numbers, !numbers, !numbers, !numbers) -> tensor<?x2x32xf32, #heddle.dims<"tokens">>
  return %s : tensor<?x2x32xf32, #heddle.dims<"tokens">>
}
