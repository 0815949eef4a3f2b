// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s

// Keys found through lists, the lists of their users, and the gradients.
!rows = tensor<?x8xf32, #heddle.dims<"nodes">>
!scores = tensor<?x2x16xf32, #heddle.dims<"nodes">>
!lists = tensor<?x12xi32, #heddle.dims<"nodes">>
!index = tensor<?xi32, #heddle.dims<"nodes">>

// CHECK-LABEL: func.func @neighbours
// CHECK-SAME: %[[Q:.*]]: tensor<?x8xf32, {{.*}}, %[[K:.*]]: tensor<?x8xf32, {{.*}}, %[[N:.*]]: tensor<?x12xi32, {{.*}}, %[[D:.*]]: tensor<?xi32, {{.*}}, %[[U:.*]]: tensor<?x12xi32, {{.*}}, %[[S:.*]]: tensor<?x12xi32, {{.*}}, %[[C:.*]]: tensor<?xi32
func.func @neighbours(%q: !rows, %k: !rows, %n: !lists, %d: !index, %u: !lists, %s: !lists, %c: !index) {
  %first = heddle.iota {dim = 0 : i64} : !index
  %one = heddle.fill 1 : i32 : !index
  %zero = heddle.fill 0 : i32 : !index
  // CHECK: %[[SCORES:.*]] = heddle.scores %[[Q]], %[[K]] rows(%[[N]]) users(%[[U]], %[[S]], %[[C]]) queries(%[[FIRST:.*]], %[[ONE:.*]]) keys(%[[ZERO:.*]], %[[D]]) combine {
  %x = heddle.scores %q, %k rows(%n) users(%u, %s, %c) queries(%first, %one) keys(%zero, %d) combine {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %a, %b : f32
    heddle.yield %0 : f32
  } {query_size = "", key_size = "neighbours"}
    : (!rows, !rows, !lists, !lists, !lists, !index, !index, !index, !index, !index) -> !scores
  // CHECK: heddle.context %[[SCORES]], %[[K]] rows(%[[N]]) users(%[[U]], %[[S]], %[[C]]) queries(%[[FIRST]], %[[ONE]]) keys(%[[ZERO]], %[[D]])
  %y = heddle.context %x, %k rows(%n) users(%u, %s, %c) queries(%first, %one) keys(%zero, %d) {query_size = "", key_size = "neighbours"}
    : (!scores, !rows, !lists, !lists, !lists, !index, !index, !index, !index, !index) -> !rows
  // CHECK: heddle.scores_grad_query %[[SCORES]] of %[[Q]], %[[K]] rows(%[[N]]) queries(
  %dq = heddle.scores_grad_query %x of %q, %k rows(%n) queries(%first, %one) keys(%zero, %d) slope {
  ^bb0(%a: f32, %b: f32, %g: f32):
    heddle.yield %g : f32
  } {query_size = "", key_size = "neighbours"} : (!scores, !rows, !rows, !lists, !index, !index, !index, !index) -> !rows
  // CHECK: heddle.scores_grad_key %[[SCORES]] of %[[Q]], %[[K]] users(%[[U]], %[[S]], %[[C]]) queries(
  %dk = heddle.scores_grad_key %x of %q, %k users(%u, %s, %c) queries(%first, %one) keys(%zero, %d) slope {
  ^bb0(%a: f32, %b: f32, %g: f32):
    heddle.yield %g : f32
  } {query_size = "", key_size = "neighbours"} : (!scores, !rows, !rows, !lists, !lists, !index, !index, !index, !index, !index) -> !rows
  // CHECK: heddle.transposed_context %[[SCORES]], %[[Q]] users(%[[U]], %[[S]], %[[C]]) queries(
  %dv = heddle.transposed_context %x, %q users(%u, %s, %c) queries(%first, %one) keys(%zero, %d) {query_size = "", key_size = "neighbours"}
    : (!scores, !rows, !lists, !lists, !index, !index, !index, !index, !index) -> !rows
  return
}
