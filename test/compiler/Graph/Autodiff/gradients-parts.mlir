// RUN: heddle-opt %s --heddle-differentiate --canonicalize --cse | FileCheck %s

#tokens = #heddle.dims<"tokens">
heddle.size @tokens max 64
heddle.variable @scale weight : tensor<1xf32>
heddle.variable @grad.scale gradient of @scale as gradient : tensor<1xf32>

// All parts of all rows share a number, so its gradient is summed over the rows and then over the parts. The gradient
// of a sum over parts is a row, whose parts lie side by side.
// CHECK-LABEL: func.func @parts
// CHECK: %[[OF_SUMS:.*]] = heddle.broadcast %{{.*}} : tensor<6xf32> to tensor<?x6xf32, #heddle.dims<"tokens">>
// CHECK: %[[G:.*]] = heddle.reshape %[[OF_SUMS]] : tensor<?x6xf32, #heddle.dims<"tokens">> to tensor<?x2x3xf32, #heddle.dims<"tokens">>
// CHECK: %[[PRODUCT:.*]] = arith.mulf %[[G]], %arg0
// CHECK: %[[ROWS:.*]] = heddle.sum rows %[[PRODUCT]] : tensor<?x2x3xf32, #heddle.dims<"tokens">> -> tensor<6xf32>
// CHECK: heddle.sum columns %[[ROWS]] : tensor<6xf32> -> tensor<1xf32>
func.func @parts(%x: tensor<?x2x3xf32, #tokens>, %y: tensor<6xf32>) {
  %scale = heddle.read @scale : tensor<1xf32>
  %wide = heddle.broadcast %scale : tensor<1xf32> to tensor<?x2x3xf32, #tokens>
  %scaled = arith.mulf %wide, %x : tensor<?x2x3xf32, #tokens>
  %sums = heddle.sum rows %scaled : tensor<?x2x3xf32, #tokens> -> tensor<6xf32>
  %product = arith.mulf %sums, %y : tensor<6xf32>
  %loss = heddle.sum columns %product : tensor<6xf32> -> tensor<1xf32>
  heddle.accumulate %loss
  return
}
