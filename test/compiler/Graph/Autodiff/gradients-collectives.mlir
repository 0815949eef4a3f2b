// RUN: heddle-opt %s --heddle-differentiate | FileCheck %s

heddle.size @n max 16
heddle.variable @w weight : tensor<4xf32>
heddle.variable @grad.w gradient of @w as gradient : tensor<4xf32>
heddle.variable @v weight : tensor<4xf32>
heddle.variable @grad.v gradient of @v as gradient : tensor<4xf32>

// The loss depends on the sums of all ranks, so the gradients of all ranks are added. A sum that the loss does not use
// has no gradient.
// CHECK-LABEL: func.func @step
// CHECK: %[[W:.*]] = heddle.read @w
// CHECK: %[[V:.*]] = heddle.read @v
// CHECK: %[[S:.*]]:2 = heddle.all_reduce %[[W]], %[[V]]
// CHECK: %[[G:.*]] = heddle.all_reduce %{{.*}} : tensor<4xf32>
// CHECK: %[[OLD:.*]] = heddle.read @grad.w
// CHECK: %[[NEW:.*]] = arith.addf %[[OLD]], %[[G]]
// CHECK: heddle.write @grad.w, %[[NEW]]
func.func @step() -> tensor<1xf32> {
  %w = heddle.read @w : tensor<4xf32>
  %v = heddle.read @v : tensor<4xf32>
  %0:2 = heddle.all_reduce %w, %v : tensor<4xf32>, tensor<4xf32>
  %1 = math.exp %0#0 : tensor<4xf32>
  %loss = heddle.sum columns %1 : tensor<4xf32> -> tensor<1xf32>
  heddle.accumulate %loss
  return %loss : tensor<1xf32>
}
