// RUN: heddle-opt %s --heddle-differentiate --canonicalize --cse | FileCheck %s

#target = #heddle.dims<"target_tokens">
#source = #heddle.dims<"source_tokens">
#sequences = #heddle.dims<"sequences">
#step = #heddle.dims<"step">
heddle.size @target_tokens max 64
heddle.size @source_tokens max 64
heddle.size @sequences max 8
heddle.size @target_length max 16 longest "target_lengths"
heddle.size @source_length max 16 longest "source_lengths"
heddle.size @step max 8 of @sequences from 0
heddle.variable @u weight : tensor<8x8xf32>
heddle.variable @v weight : tensor<8xf32>
heddle.variable @grad.u gradient of @u as gradient : tensor<8x8xf32>
heddle.variable @grad.v gradient of @v as gradient : tensor<8xf32>

// Additive scores: d/dq = d/dk = g v (1 - tanh^2), d/dv = g tanh. The gradient of v is summed over the rows of the
// queries.
// CHECK-LABEL: func.func @additive
// CHECK: %[[V:.*]] = heddle.read @v
// CHECK: %[[Q:.*]] = heddle.matmul
// CHECK: heddle.scores_grad_query %{{.*}} of %[[Q]], %arg1 parameters(%[[V]]) queries(%arg2, %arg3) keys(%arg4, %arg5) slope {
// CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32, %[[W:.*]]: f32, %[[G:.*]]: f32):
// CHECK: %[[SUM:.*]] = arith.addf %[[A]], %[[B]]
// CHECK: %[[TANH:.*]] = math.tanh %[[SUM]]
// CHECK: %[[GW:.*]] = arith.mulf %[[G]], %[[W]]
// CHECK: %[[SQUARE:.*]] = arith.mulf %[[TANH]], %[[TANH]]
// CHECK: %[[REST:.*]] = arith.subf %{{.*}}, %[[SQUARE]]
// CHECK: %[[D:.*]] = arith.mulf %[[GW]], %[[REST]]
// CHECK: heddle.yield %[[D]] : f32
// CHECK: } {key_size = "source_length", query_size = "target_length"} {{.*}} -> tensor<?x8xf32, #heddle.dims<"target_tokens">>
// CHECK: %[[ROWS:.*]] = heddle.scores_grad_query
// CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32, %[[W:.*]]: f32, %[[G:.*]]: f32):
// CHECK: %[[TANH:.*]] = math.tanh
// CHECK: %[[D:.*]] = arith.mulf %[[G]], %[[TANH]]
// CHECK: heddle.yield %[[D]] : f32
// CHECK: heddle.sum rows %[[ROWS]] : tensor<?x8xf32, #heddle.dims<"target_tokens">> -> tensor<8xf32>
func.func @additive(%x: tensor<?x8xf32, #target>, %k: tensor<?x8xf32, #source>, %qs: tensor<?xi32, #sequences>,
                    %ql: tensor<?xi32, #sequences>, %ks: tensor<?xi32, #sequences>, %kl: tensor<?xi32, #sequences>) {
  %u = heddle.read @u : tensor<8x8xf32>
  %v = heddle.read @v : tensor<8xf32>
  %q = heddle.matmul %x, %u : tensor<?x8xf32, #target>, tensor<8x8xf32> -> tensor<?x8xf32, #target>
  %s = heddle.scores %q, %k parameters(%v) queries(%qs, %ql) keys(%ks, %kl) combine {
  ^bb0(%a: f32, %b: f32, %w: f32):
    %0 = arith.addf %a, %b : f32
    %1 = math.tanh %0 : f32
    %2 = arith.mulf %1, %w : f32
    heddle.yield %2 : f32
  } {query_size = "target_length", key_size = "source_length"}
    : (tensor<?x8xf32, #target>, tensor<?x8xf32, #source>, tensor<8xf32>, tensor<?xi32, #sequences>, tensor<?xi32, #sequences>,
       tensor<?xi32, #sequences>, tensor<?xi32, #sequences>) -> tensor<?x1x16xf32, #target>
  %rows = heddle.sum columns %s : tensor<?x1x16xf32, #target> -> tensor<?xf32, #target>
  %loss = heddle.sum rows %rows : tensor<?xf32, #target> -> tensor<1xf32>
  heddle.accumulate %loss
  return
}

// Attention within a scan. In each step a sequence has one query, and the step computes the gradient of this query. The
// gradients of values and keys are single ops behind the scan, over all queries of each sequence.
// CHECK-LABEL: func.func @scan
// CHECK: %[[KEPT:.*]]:{{[0-9]+}} = heddle.scan
// CHECK: heddle.scan {{.*}} reverse
// CHECK: heddle.softmax_grad
// CHECK: heddle.context
// CHECK: heddle.yield
// CHECK: heddle.transposed_context %{{.*}}, %{{.*}} queries(%arg2, %arg3) keys(%arg5, %arg6) {key_size = "source_length", query_size = "target_length"}
// CHECK: heddle.transposed_context %{{.*}}, %{{.*}} queries(%arg2, %arg3) keys(%arg5, %arg6) {key_size = "source_length", query_size = "target_length"}
// CHECK-NOT: heddle.transposed_context
func.func @scan(%x: tensor<?x8xf32, #target>, %n: tensor<?x8xf32, #source>, %starts: tensor<?xi32, #sequences>,
                %lengths: tensor<?xi32, #sequences>, %places: tensor<?xi32, #target>, %ks: tensor<?xi32, #sequences>,
                %kl: tensor<?xi32, #sequences>) {
  %u = heddle.read @u : tensor<8x8xf32>
  %keys = heddle.matmul %n, %u : tensor<?x8xf32, #source>, tensor<8x8xf32> -> tensor<?x8xf32, #source>
  %h0 = heddle.fill 0.0 : f32 : tensor<?x8xf32, #sequences>
  %last:3, %all = heddle.scan rows(%x, %places) states(%h0, %ks, %kl) constants(%keys) of(%starts, %lengths)
      {row_size = "target_length", step = "step"}
      : (tensor<?x8xf32, #target>, tensor<?xi32, #target>, tensor<?x8xf32, #sequences>, tensor<?xi32, #sequences>,
         tensor<?xi32, #sequences>, tensor<?x8xf32, #source>, tensor<?xi32, #sequences>, tensor<?xi32, #sequences>)
      -> (tensor<?x8xf32, #sequences>, tensor<?xi32, #sequences>, tensor<?xi32, #sequences>, tensor<?x8xf32, #target>) {
  ^bb0(%now: tensor<?x8xf32, #step>, %place: tensor<?xi32, #step>, %h: tensor<?x8xf32, #step>, %s: tensor<?xi32, #step>,
       %l: tensor<?xi32, #step>, %k: tensor<?x8xf32, #source>):
    %q = arith.addf %now, %h : tensor<?x8xf32, #step>
    %number = heddle.iota : tensor<?xi32, #step>
    %one = heddle.fill 1 : i32 : tensor<?xi32, #step>
    %scores = heddle.scores %q, %k queries(%number, %one) keys(%s, %l) {query_size = "", key_size = "source_length"}
        : (tensor<?x8xf32, #step>, tensor<?x8xf32, #source>, tensor<?xi32, #step>, tensor<?xi32, #step>, tensor<?xi32, #step>,
           tensor<?xi32, #step>) -> tensor<?x1x16xf32, #step>
    %masked = heddle.mask %scores at(%place, %number) keys(%l) {value = 0xFF800000 : f32}
        : tensor<?x1x16xf32, #step>, tensor<?xi32, #step>, tensor<?xi32, #step>
    %weights = heddle.softmax %masked : tensor<?x1x16xf32, #step>
    %c = heddle.context %weights, %k queries(%number, %one) keys(%s, %l) {query_size = "", key_size = "source_length"}
        : (tensor<?x1x16xf32, #step>, tensor<?x8xf32, #source>, tensor<?xi32, #step>, tensor<?xi32, #step>,
           tensor<?xi32, #step>, tensor<?xi32, #step>) -> tensor<?x8xf32, #step>
    heddle.yield %c, %s, %l, %c : tensor<?x8xf32, #step>, tensor<?xi32, #step>, tensor<?xi32, #step>, tensor<?x8xf32, #step>
  }
  %s = heddle.sum rows %all : tensor<?x8xf32, #target> -> tensor<8xf32>
  %loss = heddle.sum columns %s : tensor<8xf32> -> tensor<1xf32>
  heddle.accumulate %loss
  return
}
