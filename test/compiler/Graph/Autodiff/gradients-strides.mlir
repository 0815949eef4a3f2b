// The gradient of taking every n-th pixel has zeros at the other pixels, and the gradient of inserting zeros takes
// every n-th pixel.
// RUN: heddle-opt %s --heddle-differentiate --canonicalize --cse | FileCheck %s

!x = tensor<?x8xf32, #heddle.dims<"n">>
!y = tensor<?x8xf32, #heddle.dims<"fewer">>
heddle.variable @w weight : tensor<8x8xf32>
heddle.variable @grad.w gradient of @w as gradient : tensor<8x8xf32>

// CHECK-LABEL: func.func @strides
// CHECK: %[[SMALL:.*]] = heddle.subsample %{{.*}} width 6 stride 3 at(1, 2)
// CHECK: %[[OF_MORE:.*]] = heddle.subsample %{{.*}} width 6 stride 3 at(0, 1)
// CHECK: %[[PRODUCT:.*]] = arith.mulf %[[OF_MORE]], %[[SMALL]]
// CHECK: %[[OF_SMALL:.*]] = arith.addf %[[PRODUCT]], %[[PRODUCT]]
// CHECK: heddle.upsample %[[OF_SMALL]] width 6 stride 3 at(1, 2)
func.func @strides(%x: !x) {
  %w = heddle.read @w : tensor<8x8xf32>
  %0 = heddle.matmul %x, %w : !x, tensor<8x8xf32> -> !x
  %1 = heddle.subsample %0 width 6 stride 3 at (1, 2) : !x -> !y
  %2 = arith.mulf %1, %1 : !y
  %3 = heddle.upsample %2 width 6 stride 3 at (0, 1) : !y -> !x
  %4 = arith.mulf %3, %x : !x
  %5 = heddle.sum columns %4 : !x -> tensor<?xf32, #heddle.dims<"n">>
  %loss = heddle.sum rows %5 : tensor<?xf32, #heddle.dims<"n">> -> tensor<1xf32>
  heddle.accumulate %loss
  return
}
