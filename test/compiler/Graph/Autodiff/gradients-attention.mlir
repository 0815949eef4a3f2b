// RUN: heddle-opt %s --heddle-differentiate | FileCheck %s

!source = tensor<?x8xf32, #heddle.dims<"source">>
!target = tensor<?x8xf32, #heddle.dims<"target">>
!per_head = tensor<?x2xf32, #heddle.dims<"target">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>

heddle.variable @w weight : tensor<8x8xf32>
heddle.variable @grad.w gradient of @w as gradient : tensor<8x8xf32>

// The mask region is copied into both halves of the backward pass.
// CHECK-LABEL: func.func @attention
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32, #heddle.dims<"target">>, %[[MEMORY:.*]]: tensor<?x8xf32, #heddle.dims<"source">>
// CHECK-SAME: %[[SEED:[^:]*]]: tensor<2xi32>, %[[STEP:[^:]*]]: tensor<1xi32>
func.func @attention(%x: !target, %memory: !source, %qs: !segments, %ql: !segments, %ks: !segments, %kl: !segments,
                     %seed: tensor<2xi32>, %step: tensor<1xi32>) {
  %w = heddle.read @w : tensor<8x8xf32>
  // CHECK: %[[Q:.*]] = heddle.matmul %[[X]]
  // CHECK-NEXT: %[[K:.*]] = heddle.matmul %[[MEMORY]]
  %q = heddle.matmul %x, %w : !target, tensor<8x8xf32> -> !target
  %k = heddle.matmul %memory, %w : !source, tensor<8x8xf32> -> !source
  // CHECK: %[[O:.*]], %[[LSE:.*]] = heddle.attention %[[Q]], %[[K]], %[[K]] queries(%[[QS:.*]], %[[QL:.*]]) keys(%[[KS:.*]], %[[KL:.*]]) dropout(%[[SEED]], %[[STEP]])
  %o, %lse = heddle.attention %q, %k, %k queries(%qs, %ql) keys(%ks, %kl) dropout(%seed, %step) mask {
  ^bb0(%i: i32, %j: i32):
    %counts = arith.cmpi sge, %i, %j : i32
    heddle.yield %counts : i1
  } {heads = 2 : i64, scale = 0.5 : f32, dropout = 0.1 : f32, stream = 3 : i32, query_size = "target_length",
     key_size = "source_length"}
    : (!target, !source, !source, !segments, !segments, !segments, !segments, tensor<2xi32>, tensor<1xi32>)
    -> (!target, !per_head)
  %r = heddle.sum rows %o : !target -> tensor<8xf32>
  %loss = heddle.sum columns %r : tensor<8xf32> -> tensor<1xf32>
  // CHECK: heddle.fill 1.0
  // CHECK: %[[DO:.*]] = heddle.broadcast %{{.*}} to tensor<?x8xf32, #heddle.dims<"target">>
  // CHECK-NEXT: %[[DELTA:.*]] = heddle.attention_delta %[[O]], %[[DO]] : tensor<?x8xf32, #heddle.dims<"target">> -> tensor<?x2xf32, #heddle.dims<"target">>
  // CHECK-NEXT: %[[DQ:.*]] = heddle.attention_grad_query %[[Q]], %[[K]], %[[K]] gradient %[[DO]], %[[LSE]], %[[DELTA]] queries(%[[QS]], %[[QL]]) keys(%[[KS]], %[[KL]]) dropout(%[[SEED]], %[[STEP]]) mask {
  // CHECK: arith.cmpi sge
  // CHECK: } {dropout = 1.000000e-01 : f32, heads = 2 : i64, key_size = "source_length", query_size = "target_length", scale = 5.000000e-01 : f32, stream = 3 : i32}
  // CHECK-NEXT: %[[DK:.*]], %[[DV:.*]] = heddle.attention_grad_key_value %[[Q]], %[[K]], %[[K]] gradient %[[DO]], %[[LSE]], %[[DELTA]] queries(%[[QS]], %[[QL]]) keys(%[[KS]], %[[KL]]) dropout(%[[SEED]], %[[STEP]]) mask {
  // CHECK: arith.cmpi sge
  // CHECK: } {dropout = 1.000000e-01 : f32, heads = 2 : i64, key_size = "source_length", query_size = "target_length", scale = 5.000000e-01 : f32, stream = 3 : i32}
  // CHECK-NEXT: %[[DKV:.*]] = arith.addf %[[DK]], %[[DV]]
  // CHECK-NEXT: %[[DW0:.*]] = heddle.matmul %[[MEMORY]], %[[DKV]] {transpose_lhs}
  // CHECK-NEXT: %[[DW1:.*]] = heddle.matmul %[[X]], %[[DQ]] {transpose_lhs}
  // CHECK-NEXT: arith.addf %[[DW0]], %[[DW1]]
  heddle.accumulate %loss
  return
}

// The score region's gradient applies the rules of its ops. Both regions are copied into both halves.
// CHECK-LABEL: func.func @score
func.func @score(%x: !target, %qs: !segments, %ql: !segments) {
  %w = heddle.read @w : tensor<8x8xf32>
  %q = heddle.matmul %x, %w : !target, tensor<8x8xf32> -> !target
  %o, %lse = heddle.attention %q, %q, %q queries(%qs, %ql) keys(%qs, %ql) score {
  ^bb0(%score: f32, %i: i32, %j: i32, %head: i32):
    %soft = math.tanh %score : f32
    %far = arith.sitofp %j : i32 to f32
    %biased = arith.subf %soft, %far : f32
    %product = arith.mulf %biased, %score : f32
    heddle.yield %product : f32
  } {heads = 2 : i64, scale = 0.5 : f32, query_size = "target_length", key_size = "target_length"}
    : (!target, !target, !target, !segments, !segments, !segments, !segments) -> (!target, !per_head)
  %r = heddle.sum rows %o : !target -> tensor<8xf32>
  %loss = heddle.sum columns %r : tensor<8xf32> -> tensor<1xf32>
  // CHECK: heddle.attention_grad_query {{.*}} score {
  // CHECK: math.tanh
  // CHECK: } score_gradient {
  // CHECK-NEXT: ^bb0(%[[SCORE:.*]]: f32, %{{.*}}: i32, %[[J:.*]]: i32, %{{.*}}: i32, %[[G:.*]]: f32):
  // CHECK-NEXT: %[[SOFT:.*]] = math.tanh %[[SCORE]] : f32
  // CHECK-NEXT: %[[FAR:.*]] = arith.sitofp %[[J]] : i32 to f32
  // CHECK-NEXT: %[[BIASED:.*]] = arith.subf %[[SOFT]], %[[FAR]] : f32
  // CHECK-NEXT: arith.mulf %[[BIASED]], %[[SCORE]] : f32
  // CHECK-NEXT: %[[DBIASED:.*]] = arith.mulf %[[G]], %[[SCORE]] : f32
  // CHECK-NEXT: %[[DIRECT:.*]] = arith.mulf %[[G]], %[[BIASED]] : f32
  // CHECK-NEXT: arith.negf
  // CHECK-NEXT: %[[ONE:.*]] = arith.constant 1.0
  // CHECK-NEXT: %[[SQUARE:.*]] = arith.mulf %[[SOFT]], %[[SOFT]] : f32
  // CHECK-NEXT: %[[SLOPE:.*]] = arith.subf %[[ONE]], %[[SQUARE]] : f32
  // CHECK-NEXT: %[[THROUGH:.*]] = arith.mulf %[[DBIASED]], %[[SLOPE]] : f32
  // CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[DIRECT]], %[[THROUGH]] : f32
  // CHECK-NEXT: heddle.yield %[[SUM]] : f32
  // CHECK: heddle.attention_grad_key_value {{.*}} score {
  // CHECK: } score_gradient {
  // CHECK: arith.addf
  heddle.accumulate %loss
  return
}

heddle.variable @sinks weight : tensor<2xf32>
heddle.variable @grad.sinks gradient of @sinks as gradient : tensor<2xf32>

// A sink's probability is exp(sink - log-sum-exp). Its gradient is minus the sum of probability times delta.
// CHECK-LABEL: func.func @sink
func.func @sink(%x: !target, %qs: !segments, %ql: !segments) {
  // CHECK: %[[SINK:.*]] = heddle.read @sinks
  %sink = heddle.read @sinks : tensor<2xf32>
  // CHECK: %{{.*}}, %[[LSE:.*]] = heddle.attention %{{.*}} sink(%[[SINK]])
  %o, %lse = heddle.attention %x, %x, %x sink(%sink) queries(%qs, %ql) keys(%qs, %ql)
    {heads = 2 : i64, scale = 0.5 : f32, query_size = "target_length", key_size = "target_length"}
    : (!target, !target, !target, tensor<2xf32>, !segments, !segments, !segments, !segments) -> (!target, !per_head)
  %r = heddle.sum rows %o : !target -> tensor<8xf32>
  %loss = heddle.sum columns %r : tensor<8xf32> -> tensor<1xf32>
  // CHECK: %[[DELTA:.*]] = heddle.attention_delta
  // CHECK: %[[SINKS:.*]] = heddle.broadcast %[[SINK]] : tensor<2xf32> to tensor<?x2xf32, #heddle.dims<"target">>
  // CHECK-NEXT: %[[DIFFERENCE:.*]] = arith.subf %[[SINKS]], %[[LSE]]
  // CHECK-NEXT: %[[P:.*]] = math.exp %[[DIFFERENCE]]
  // CHECK-NEXT: %[[PRODUCT:.*]] = arith.mulf %[[P]], %[[DELTA]]
  // CHECK-NEXT: %[[SUM:.*]] = heddle.sum rows %[[PRODUCT]]
  // CHECK-NEXT: arith.negf %[[SUM]] : tensor<2xf32>
  heddle.accumulate %loss
  return
}

// The gradients of a row's scores and of its sink add up to zero.
// CHECK-LABEL: func.func @unfused
func.func @unfused(%scores: tensor<?x2x16xf32, #heddle.dims<"target">>) {
  // CHECK: %[[SINK:.*]] = heddle.read @sinks
  %sink = heddle.read @sinks : tensor<2xf32>
  %p = heddle.softmax %scores sink(%sink : tensor<2xf32>) : tensor<?x2x16xf32, #heddle.dims<"target">>
  %square = arith.mulf %p, %p : tensor<?x2x16xf32, #heddle.dims<"target">>
  %r = heddle.sum rows %square : tensor<?x2x16xf32, #heddle.dims<"target">> -> tensor<32xf32>
  %loss = heddle.sum columns %r : tensor<32xf32> -> tensor<1xf32>
  // CHECK: %[[DS:.*]] = heddle.softmax_grad
  // CHECK-NEXT: %[[ROWS:.*]] = heddle.sum columns %[[DS]] : {{.*}} -> tensor<?x2xf32, #heddle.dims<"target">>
  // CHECK-NEXT: %[[SUM:.*]] = heddle.sum rows %[[ROWS]]
  // CHECK-NEXT: arith.negf %[[SUM]] : tensor<2xf32>
  heddle.accumulate %loss
  return
}
