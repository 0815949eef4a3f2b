// RUN: heddle-opt %s --heddle-differentiate --canonicalize --cse | FileCheck %s

#tokens = #heddle.dims<"tokens">
#sequences = #heddle.dims<"sequences">
#step = #heddle.dims<"step">
heddle.size @tokens max 64
heddle.size @sequences max 8
heddle.size @length max 16 longest "lengths"
heddle.size @step max 8 of @sequences from 0
heddle.variable @u weight : tensor<8x8xf32>
heddle.variable @grad.u gradient of @u as gradient : tensor<8x8xf32>

// The forward scan keeps the states before each token for the gradient of the weight. The rule of tanh needs a value
// that is already an output.
// CHECK-LABEL: func.func @elman
// CHECK: %[[R:.*]]:3 = heddle.scan rows(%arg0)
// CHECK: ^bb0(%{{.*}}, %[[BEFORE:[a-z0-9]+]]: tensor<?x8xf32, #heddle.dims<"step">>, %{{.*}}: tensor<8x8xf32>):
// CHECK: %[[H:.*]] = math.tanh
// CHECK: heddle.yield %[[H]], %[[H]], %[[BEFORE]]
// The gradient's scan runs backwards. Its only matmul multiplies by the transposed weight.
// CHECK: %[[G:.*]]:2 = heddle.scan rows(%{{.*}}, %[[R]]#1) states(%{{.*}}) constants(%{{.*}}) of(%arg1, %arg2) reverse
// CHECK: ^bb0(%[[OUT:[a-z0-9]+]]: {{.*}}, %[[T:[a-z0-9]+]]: tensor<?x8xf32, #heddle.dims<"step">>, %[[STATE:[a-z0-9]+]]: tensor<?x8xf32, #heddle.dims<"step">>, %[[U:[a-z0-9]+]]: tensor<8x8xf32>):
// CHECK: %[[SUM:.*]] = arith.addf %[[OUT]], %[[STATE]]
// CHECK: arith.mulf %[[T]], %[[T]]
// CHECK: %[[DZ:.*]] = arith.mulf %[[SUM]]
// CHECK: %[[DH:.*]] = heddle.matmul %[[DZ]], %[[U]] {transpose_rhs}
// CHECK-NEXT: heddle.yield %[[DH]], %[[DZ]]
// The weight's gradient is one matmul over all tokens.
// CHECK: heddle.matmul %[[R]]#2, %[[G]]#1 {transpose_lhs} : tensor<?x8xf32, #heddle.dims<"tokens">>, tensor<?x8xf32, #heddle.dims<"tokens">> -> tensor<8x8xf32>
// CHECK-NOT: heddle.matmul
func.func @elman(%x: tensor<?x8xf32, #tokens>, %starts: tensor<?xi32, #sequences>, %lengths: tensor<?xi32, #sequences>) {
  %u = heddle.read @u : tensor<8x8xf32>
  %h0 = heddle.fill 0.0 : f32 : tensor<?x8xf32, #sequences>
  %last, %all = heddle.scan rows(%x) states(%h0) constants(%u) of(%starts, %lengths) {row_size = "length", step = "step"}
      : (tensor<?x8xf32, #tokens>, tensor<?x8xf32, #sequences>, tensor<8x8xf32>, tensor<?xi32, #sequences>,
         tensor<?xi32, #sequences>) -> (tensor<?x8xf32, #sequences>, tensor<?x8xf32, #tokens>) {
  ^bb0(%now: tensor<?x8xf32, #step>, %h: tensor<?x8xf32, #step>, %w: tensor<8x8xf32>):
    %0 = heddle.matmul %h, %w : tensor<?x8xf32, #step>, tensor<8x8xf32> -> tensor<?x8xf32, #step>
    %1 = arith.addf %now, %0 : tensor<?x8xf32, #step>
    %2 = math.tanh %1 : tensor<?x8xf32, #step>
    heddle.yield %2, %2 : tensor<?x8xf32, #step>, tensor<?x8xf32, #step>
  }
  %s = heddle.sum rows %all : tensor<?x8xf32, #tokens> -> tensor<8xf32>
  %loss = heddle.sum columns %s : tensor<8xf32> -> tensor<1xf32>
  heddle.accumulate %loss
  return
}

// The gradients of sliced columns are joined, not added.
// CHECK-LABEL: func.func @gates
// CHECK: heddle.join %{{.*}}, %{{.*}} : tensor<?x4xf32, #heddle.dims<"tokens">>, tensor<?x4xf32, #heddle.dims<"tokens">> -> tensor<?x8xf32, #heddle.dims<"tokens">>
// CHECK-NOT: heddle.join
func.func @gates(%x: tensor<?x8xf32, #tokens>) {
  %u = heddle.read @u : tensor<8x8xf32>
  %y = heddle.matmul %x, %u : tensor<?x8xf32, #tokens>, tensor<8x8xf32> -> tensor<?x8xf32, #tokens>
  %a = heddle.columns %y from 0 : tensor<?x8xf32, #tokens> -> tensor<?x4xf32, #tokens>
  %b = heddle.columns %y from 4 : tensor<?x8xf32, #tokens> -> tensor<?x4xf32, #tokens>
  %c = arith.mulf %a, %b : tensor<?x4xf32, #tokens>
  %s = heddle.sum rows %c : tensor<?x4xf32, #tokens> -> tensor<4xf32>
  %loss = heddle.sum columns %s : tensor<4xf32> -> tensor<1xf32>
  heddle.accumulate %loss
  return
}
