// The gradient of a rotation is the rotation back, of the same pairs.
// RUN: heddle-opt %s --heddle-differentiate --canonicalize --cse | FileCheck %s

!x = tensor<?x8xf32, #heddle.dims<"n">>
!places = tensor<?xi32, #heddle.dims<"n">>
heddle.variable @w weight : tensor<8x8xf32>
heddle.variable @grad.w gradient of @w as gradient : tensor<8x8xf32>

// CHECK-LABEL: func.func @turn
// CHECK: %[[BACK:.*]] = heddle.rotary %{{.*}} at %arg1 by %arg3 {inverse, neighbours} : {{.*}}tensor<4xf32>
// CHECK: heddle.rotary %[[BACK]] at %arg1 by %arg2 {inverse} : {{.*}}tensor<2xf32>
func.func @turn(%x: !x, %places: !places, %halves: tensor<2xf32>, %neighbours: tensor<4xf32>) {
  %w = heddle.read @w : tensor<8x8xf32>
  %0 = heddle.matmul %x, %w : !x, tensor<8x8xf32> -> !x
  %1 = heddle.rotary %0 at %places by %halves : !x, !places, tensor<2xf32>
  %2 = heddle.rotary %1 at %places by %neighbours {neighbours} : !x, !places, tensor<4xf32>
  %3 = arith.mulf %2, %x : !x
  %4 = heddle.sum columns %3 : !x -> tensor<?xf32, #heddle.dims<"n">>
  %loss = heddle.sum rows %4 : tensor<?xf32, #heddle.dims<"n">> -> tensor<1xf32>
  heddle.accumulate %loss
  return
}
