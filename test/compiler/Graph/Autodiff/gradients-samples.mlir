// RUN: heddle-opt %s --heddle-differentiate | FileCheck %s

!rows = tensor<?x4xf32, #heddle.dims<"n">>
heddle.variable @w weight : tensor<4xf32>
heddle.variable @grad.w gradient of @w as gradient : tensor<4xf32>

// A weight times stop_gradient of itself: only one of the two gradients is built, and stop_gradient is erased.
// CHECK-LABEL: func.func @half
// CHECK-NOT: heddle.stop_gradient
// CHECK: %[[W:.*]] = heddle.read @w
// CHECK: %[[SQUARE:.*]] = arith.mulf %[[W]], %[[W]]
// CHECK: %[[ONES:.*]] = heddle.broadcast
// CHECK: %[[G:.*]] = arith.mulf %[[ONES]], %[[W]]
// CHECK-NOT: arith.mulf
// CHECK: heddle.write @grad.w
func.func @half() {
  %w = heddle.read @w : tensor<4xf32>
  %c = heddle.stop_gradient %w : tensor<4xf32>
  %p = arith.mulf %w, %c : tensor<4xf32>
  %loss = heddle.sum columns %p : tensor<4xf32> -> tensor<1xf32>
  heddle.accumulate %loss
  return
}

// stop_gradient is also erased within a scan, and in entries without training.
#tokens = #heddle.dims<"tokens">
#sequences = #heddle.dims<"sequences">
#step = #heddle.dims<"step">
// CHECK-LABEL: func.func @untrained
// CHECK-NOT: heddle.stop_gradient
func.func @untrained(%x: tensor<?x8xf32, #tokens>, %h0: tensor<?x8xf32, #sequences>, %starts: tensor<?xi32, #sequences>,
                     %lengths: tensor<?xi32, #sequences>) -> tensor<?x8xf32, #tokens> {
  %r:2 = heddle.scan rows(%x) states(%h0) constants() of(%starts, %lengths) {row_size = "length", step = "step"}
      : (tensor<?x8xf32, #tokens>, tensor<?x8xf32, #sequences>, tensor<?xi32, #sequences>, tensor<?xi32, #sequences>)
      -> (tensor<?x8xf32, #sequences>, tensor<?x8xf32, #tokens>) {
  ^bb0(%now: tensor<?x8xf32, #step>, %h: tensor<?x8xf32, #step>):
    %0 = heddle.stop_gradient %h : tensor<?x8xf32, #step>
    %1 = arith.addf %now, %0 : tensor<?x8xf32, #step>
    heddle.yield %1, %1 : tensor<?x8xf32, #step>, tensor<?x8xf32, #step>
  }
  return %r#1 : tensor<?x8xf32, #tokens>
}
