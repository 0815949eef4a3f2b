// Scores computed by a region within a scan. The query's gradient is computed step by step. The gradients of keys and
// parameters are computed behind the scan, for all queries of a sequence at once.
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

!rows = tensor<?x8xf32, #target>
!notes = tensor<?x8xf32, #source>
!state = tensor<?x8xf32, #sequences>
!numbers = tensor<?xi32, #sequences>
!now = tensor<?x8xf32, #step>
!number = tensor<?xi32, #step>
!scores = tensor<?x1x16xf32, #step>

// CHECK-LABEL: func.func @scan
// CHECK: %[[V:.*]] = heddle.read @v
// CHECK: %[[KEYS:.*]] = heddle.matmul %arg1
// The forward scan keeps a row for each token of the queries and the weights, because the gradients need them.
// CHECK: %[[KEPT:.*]]:{{[0-9]+}} = heddle.scan rows(%arg0, %arg4) states(%{{.*}}, %arg5, %arg6) constants(%[[KEYS]], %arg1, %[[V]]) of(%arg2, %arg3) {row_size
// CHECK: %[[QUERY:.*]] = arith.addf
// CHECK: heddle.scores %[[QUERY]], %{{.*}} parameters(%{{.*}}) queries(
// CHECK: %[[WEIGHTS:.*]] = heddle.softmax
// CHECK: heddle.yield %[[NEXT:.*]], %{{.*}}, %{{.*}}, %[[NEXT]], %[[WEIGHTS]], %[[QUERY]] :
// The backward step computes only the query's gradient.
// CHECK: %[[BACK:.*]]:4 = heddle.scan rows(%{{.*}}, %[[KEPT]]#3, %[[KEPT]]#4, %arg4, %[[KEPT]]#5) states({{.*}} of(%arg2, %arg3) reverse
// CHECK-NOT: heddle.scores_grad_key
// CHECK: heddle.softmax_grad
// CHECK: heddle.scores_grad_query %{{.*}} of %{{.*}}, %{{.*}} parameters(%{{.*}}) queries(%{{.*}}) keys(%{{.*}}) slope {
// CHECK: } {key_size = "source_length", query_size = ""} {{.*}} -> tensor<?x8xf32, #heddle.dims<"step">>
// CHECK-NOT: heddle.scores_grad
// CHECK: heddle.yield
// Behind the scan, the starts and lengths of the queries are those of the target's sequences.
// CHECK: %[[OFKEY:.*]] = heddle.scores_grad_key %[[BACK]]#3 of %[[KEPT]]#5, %[[KEYS]] parameters(%[[V]]) queries(%arg2, %arg3) keys(%arg5, %arg6) slope {
// CHECK: } {key_size = "source_length", query_size = "target_length"} {{.*}} -> tensor<?x8xf32, #heddle.dims<"source_tokens">>
// CHECK: %[[OFV:.*]] = heddle.scores_grad_query %[[BACK]]#3 of %[[KEPT]]#5, %[[KEYS]] parameters(%[[V]]) queries(%arg2, %arg3) keys(%arg5, %arg6) slope {
// CHECK: } {key_size = "source_length", query_size = "target_length"} {{.*}} -> tensor<?x8xf32, #heddle.dims<"target_tokens">>
// CHECK: heddle.sum rows %[[OFV]] : tensor<?x8xf32, #heddle.dims<"target_tokens">> -> tensor<8xf32>
// CHECK-NOT: heddle.scores_grad
// CHECK-DAG: heddle.matmul %arg1, %[[OFKEY]] {transpose_lhs}
// CHECK-DAG: heddle.write @grad.u
// CHECK-DAG: heddle.write @grad.v
func.func @scan(%x: !rows, %n: !notes, %starts: !numbers, %lengths: !numbers, %places: tensor<?xi32, #target>, %ks: !numbers,
                %kl: !numbers) {
  %u = heddle.read @u : tensor<8x8xf32>
  %v = heddle.read @v : tensor<8xf32>
  %keys = heddle.matmul %n, %u : !notes, tensor<8x8xf32> -> !notes
  %h0 = heddle.fill 0.0 : f32 : !state
  %last:3, %all = heddle.scan rows(%x, %places) states(%h0, %ks, %kl) constants(%keys, %n, %v) of(%starts, %lengths)
      {row_size = "target_length", step = "step"}
      : (!rows, tensor<?xi32, #target>, !state, !numbers, !numbers, !notes, !notes, tensor<8xf32>, !numbers, !numbers)
      -> (!state, !numbers, !numbers, !rows) {
  ^bb0(%now: !now, %place: !number, %h: !now, %s: !number, %l: !number, %k: !notes, %notes: !notes, %w: tensor<8xf32>):
    %q = arith.addf %now, %h : !now
    %number = heddle.iota : !number
    %one = heddle.fill 1 : i32 : !number
    %scores = heddle.scores %q, %k parameters(%w) queries(%number, %one) keys(%s, %l) combine {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %0 = arith.addf %a, %b : f32
      %1 = math.tanh %0 : f32
      %2 = arith.mulf %1, %c : f32
      heddle.yield %2 : f32
    } {query_size = "", key_size = "source_length"} : (!now, !notes, tensor<8xf32>, !number, !number, !number, !number) -> !scores
    %masked = heddle.mask %scores at(%place, %number) keys(%l) {value = 0xFF800000 : f32} : !scores, !number, !number
    %weights = heddle.softmax %masked : !scores
    %c = heddle.context %weights, %notes queries(%number, %one) keys(%s, %l) {query_size = "", key_size = "source_length"}
        : (!scores, !notes, !number, !number, !number, !number) -> !now
    %next = math.tanh %c : !now
    heddle.yield %next, %s, %l, %next : !now, !number, !number, !now
  }
  %s = heddle.sum rows %all : !rows -> tensor<8xf32>
  %loss = heddle.sum columns %s : tensor<8xf32> -> tensor<1xf32>
  heddle.accumulate %loss
  return
}

// A number for each query or sequence serves all of its pairs, so its gradient is the sum over these pairs.
// CHECK-LABEL: func.func @spread
// CHECK: %[[PAIRS:.*]] = arith.mulf %{{.*}}, %arg1 : tensor<?x2x16xf32, #heddle.dims<"target_tokens">>
// CHECK: %[[EACH:.*]] = heddle.sum columns %[[PAIRS]] : tensor<?x2x16xf32, #heddle.dims<"target_tokens">> -> tensor<?xf32, #heddle.dims<"target_tokens">>
// CHECK: %[[COLUMNS:.*]] = heddle.broadcast %[[EACH]] : tensor<?xf32, #heddle.dims<"target_tokens">> to tensor<?x8xf32, #heddle.dims<"target_tokens">>
// CHECK: heddle.matmul %arg0, %[[COLUMNS]] {transpose_lhs}
func.func @spread(%x: !rows, %w: tensor<?x2x16xf32, #target>) {
  %u = heddle.read @u : tensor<8x8xf32>
  %y = heddle.matmul %x, %u : !rows, tensor<8x8xf32> -> !rows
  %each = heddle.sum columns %y : !rows -> tensor<?xf32, #target>
  %b = heddle.broadcast %each : tensor<?xf32, #target> to tensor<?x2x16xf32, #target>
  %p = arith.mulf %b, %w : tensor<?x2x16xf32, #target>
  %sums = heddle.sum columns %p : tensor<?x2x16xf32, #target> -> tensor<?xf32, #target>
  %loss = heddle.sum rows %sums : tensor<?xf32, #target> -> tensor<1xf32>
  heddle.accumulate %loss
  return
}

// Each argument of a region has a slope of its own. The slope is zero if the result does not depend on the argument, or
// depends on it only through a comparison.
// CHECK-LABEL: func.func @slopes
// CHECK: heddle.scores_grad_query
// CHECK: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32, %[[W:.*]]: f32, %[[G:.*]]: f32):
// CHECK: %[[LESS:.*]] = arith.cmpf olt, %[[A]], %[[B]] : f32
// CHECK: %[[THERE:.*]] = arith.select %[[LESS]], %[[G]], %{{.*}} : f32
// CHECK: %[[D:.*]] = arith.mulf %[[THERE]], %[[W]] : f32
// CHECK: heddle.yield %[[D]] : f32
// CHECK: %[[ROWS:.*]] = heddle.scores_grad_query
// CHECK: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32, %[[W:.*]]: f32, %[[G:.*]]: f32):
// CHECK: %[[THERE:.*]] = arith.select %{{.*}}, %[[G]], %{{.*}} : f32
// CHECK: %[[D:.*]] = arith.mulf %[[THERE]], %[[A]] : f32
// CHECK: heddle.yield %[[D]] : f32
// CHECK: heddle.sum rows %[[ROWS]]
func.func @slopes(%x: !rows, %k: !notes, %qs: !numbers, %ql: !numbers, %ks: !numbers, %kl: !numbers) {
  %u = heddle.read @u : tensor<8x8xf32>
  %v = heddle.read @v : tensor<8xf32>
  %q = heddle.matmul %x, %u : !rows, tensor<8x8xf32> -> !rows
  %s = heddle.scores %q, %k parameters(%v) queries(%qs, %ql) keys(%ks, %kl) combine {
  ^bb0(%a: f32, %b: f32, %w: f32):
    %less = arith.cmpf olt, %a, %b : f32
    %0 = arith.mulf %a, %w : f32
    %1 = arith.select %less, %0, %b : f32
    heddle.yield %1 : f32
  } {query_size = "target_length", key_size = "source_length"}
    : (!rows, !notes, tensor<8xf32>, !numbers, !numbers, !numbers, !numbers) -> tensor<?x1x16xf32, #target>
  %sums = heddle.sum columns %s : tensor<?x1x16xf32, #target> -> tensor<?xf32, #target>
  %loss = heddle.sum rows %sums : tensor<?xf32, #target> -> tensor<1xf32>
  heddle.accumulate %loss
  return
}

// Scores that do not depend on the query: its slope is zero, and only the parameter's gradient has a value.
// CHECK-LABEL: func.func @constant
// CHECK: heddle.scores_grad_query
// CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK: heddle.yield %[[ZERO]] : f32
// CHECK: heddle.scores_grad_query
// CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: f32, %{{.*}}: f32, %[[G:.*]]: f32):
// CHECK-NEXT: heddle.yield %[[G]] : f32
func.func @constant(%x: !rows, %k: !notes, %qs: !numbers, %ql: !numbers, %ks: !numbers, %kl: !numbers) {
  %u = heddle.read @u : tensor<8x8xf32>
  %v = heddle.read @v : tensor<8xf32>
  %q = heddle.matmul %x, %u : !rows, tensor<8x8xf32> -> !rows
  %s = heddle.scores %q, %k parameters(%v) queries(%qs, %ql) keys(%ks, %kl) combine {
  ^bb0(%a: f32, %b: f32, %w: f32):
    heddle.yield %w : f32
  } {query_size = "target_length", key_size = "source_length"}
    : (!rows, !notes, tensor<8xf32>, !numbers, !numbers, !numbers, !numbers) -> tensor<?x1x16xf32, #target>
  %sums = heddle.sum columns %s : tensor<?x1x16xf32, #target> -> tensor<?xf32, #target>
  %loss = heddle.sum rows %sums : tensor<?xf32, #target> -> tensor<1xf32>
  heddle.accumulate %loss
  return
}

// A number for each sequence is repeated for its tokens, so its gradient is the sum over the tokens.
// CHECK-LABEL: func.func @number
// CHECK: %{{.*}}, %[[SEQUENCE:.*]] = heddle.locate rows(%arg1, %arg2)
// CHECK: %[[FIRST:.*]] = heddle.find_first %[[SEQUENCE]] : tensor<?xi32, #heddle.dims<"target_tokens">> -> tensor<?x1xi32, #heddle.dims<"sequences">>
// CHECK: %[[SUMS:.*]] = heddle.sum_equal %[[SEQUENCE]], %[[FIRST]], %{{.*}}, tensor<?x1xf32, #heddle.dims<"target_tokens">>
// CHECK: %[[ROWS:.*]] = heddle.densify %[[FIRST]], %[[SUMS]] : {{.*}}tensor<?x1xf32, #heddle.dims<"sequences">>
// CHECK: %[[EACH:.*]] = heddle.reshape %[[ROWS]] : tensor<?x1xf32, #heddle.dims<"sequences">> to tensor<?xf32, #heddle.dims<"sequences">>
// CHECK: heddle.broadcast %[[EACH]] : tensor<?xf32, #heddle.dims<"sequences">> to tensor<?x8xf32, #heddle.dims<"sequences">>
// CHECK: heddle.write @grad.u
func.func @number(%x: !state, %starts: !numbers, %lengths: !numbers) {
  %u = heddle.read @u : tensor<8x8xf32>
  %y = heddle.matmul %x, %u : !state, tensor<8x8xf32> -> !state
  %each = heddle.sum columns %y : !state -> tensor<?xf32, #sequences>
  %position, %sequence = heddle.locate rows(%starts, %lengths) {row_size = "target_length"} : !numbers -> tensor<?xi32, #target>
  %rows = heddle.embedding %sequence, %each : tensor<?xi32, #target>, tensor<?xf32, #sequences> -> tensor<?xf32, #target>
  %loss = heddle.sum rows %rows : tensor<?xf32, #target> -> tensor<1xf32>
  heddle.accumulate %loss
  return
}
