// RUN: heddle-opt %s --heddle-differentiate --canonicalize --cse | FileCheck %s

// Keys found through lists: the query's gradient uses the same lists, and the gradients of key and value use the lists
// of users.
#nodes = #heddle.dims<"nodes">
!rows = tensor<?x8xf32, #nodes>
!scores = tensor<?x2x16xf32, #nodes>
!lists = tensor<?x12xi32, #nodes>
!index = tensor<?xi32, #nodes>
heddle.size @nodes max 64
heddle.size @neighbours max 12 longest "degrees"
heddle.variable @w weight : tensor<8x8xf32>
heddle.variable @grad.w gradient of @w as gradient : tensor<8x8xf32>

// CHECK-LABEL: func.func @dot
// CHECK-SAME: %[[X:arg0]]: {{.*}}, %[[N:arg1]]: {{.*}}, %[[D:arg2]]: {{.*}}, %[[U:arg3]]: {{.*}}, %[[S:arg4]]: {{.*}}, %[[C:arg5]]:
// CHECK: %[[H:.*]] = heddle.matmul
// CHECK: %[[SCORES:.*]] = heddle.scores %[[H]], %[[H]] rows(%[[N]]) users(%[[U]], %[[S]], %[[C]])
// CHECK: heddle.context %[[SCORES]], %[[H]] rows(%[[N]])
// CHECK: %[[DS:.*]] = heddle.scores %{{.*}}, %[[H]] rows(%[[N]]) queries(
// CHECK: heddle.transposed_context %[[SCORES]], %{{.*}} users(%[[U]], %[[S]], %[[C]]) queries(
// CHECK: heddle.context %[[DS]], %[[H]] rows(%[[N]]) queries(
// CHECK: heddle.transposed_context %[[DS]], %[[H]] users(%[[U]], %[[S]], %[[C]]) queries(
func.func @dot(%x: !rows, %n: !lists, %d: !index, %u: !lists, %s: !lists, %c: !index) -> tensor<1xf32> {
  %w = heddle.read @w : tensor<8x8xf32>
  %h = heddle.matmul %x, %w : !rows, tensor<8x8xf32> -> !rows
  %first = heddle.iota {dim = 0 : i64} : !index
  %one = heddle.fill 1 : i32 : !index
  %zero = heddle.fill 0 : i32 : !index
  %scores = heddle.scores %h, %h rows(%n) users(%u, %s, %c) queries(%first, %one) keys(%zero, %d) {query_size = "", key_size = "neighbours"}
    : (!rows, !rows, !lists, !lists, !lists, !index, !index, !index, !index, !index) -> !scores
  %y = heddle.context %scores, %h rows(%n) users(%u, %s, %c) queries(%first, %one) keys(%zero, %d) {query_size = "", key_size = "neighbours"}
    : (!scores, !rows, !lists, !lists, !lists, !index, !index, !index, !index, !index) -> !rows
  %sums = heddle.sum columns %y : !rows -> tensor<?xf32, #nodes>
  %loss = heddle.sum rows %sums : tensor<?xf32, #nodes> -> tensor<1xf32>
  heddle.accumulate %loss
  return %loss : tensor<1xf32>
}

// CHECK-LABEL: func.func @combined
// CHECK: heddle.scores_grad_query %{{.*}} of %{{.*}}, %{{.*}} rows(%arg1) queries(
// CHECK: heddle.scores_grad_key %{{.*}} of %{{.*}}, %{{.*}} users(%arg3, %arg4, %arg5) queries(
func.func @combined(%x: !rows, %n: !lists, %d: !index, %u: !lists, %s: !lists, %c: !index) -> tensor<1xf32> {
  %w = heddle.read @w : tensor<8x8xf32>
  %h = heddle.matmul %x, %w : !rows, tensor<8x8xf32> -> !rows
  %first = heddle.iota {dim = 0 : i64} : !index
  %one = heddle.fill 1 : i32 : !index
  %zero = heddle.fill 0 : i32 : !index
  %scores = heddle.scores %h, %h rows(%n) users(%u, %s, %c) queries(%first, %one) keys(%zero, %d) combine {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %a, %b : f32
    %1 = math.tanh %0 : f32
    heddle.yield %1 : f32
  } {query_size = "", key_size = "neighbours"}
    : (!rows, !rows, !lists, !lists, !lists, !index, !index, !index, !index, !index) -> !scores
  %y = heddle.context %scores, %x rows(%n) users(%u, %s, %c) queries(%first, %one) keys(%zero, %d) {query_size = "", key_size = "neighbours"}
    : (!scores, !rows, !lists, !lists, !lists, !index, !index, !index, !index, !index) -> !rows
  %sums = heddle.sum columns %y : !rows -> tensor<?xf32, #nodes>
  %loss = heddle.sum rows %sums : tensor<?xf32, #nodes> -> tensor<1xf32>
  heddle.accumulate %loss
  return %loss : tensor<1xf32>
}
