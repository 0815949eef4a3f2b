// The gradient of windows (unfold) sums each row's copies (fold), and the gradient of fold is unfold.
// RUN: heddle-opt %s --heddle-differentiate --canonicalize --cse | FileCheck %s

!x = tensor<?x8xf32, #heddle.dims<"n">>
!u = tensor<?x16xf32, #heddle.dims<"n">>
!places = tensor<?xi32, #heddle.dims<"n">>
heddle.variable @w weight : tensor<8x8xf32>
heddle.variable @grad.w gradient of @w as gradient : tensor<8x8xf32>

// CHECK-LABEL: func.func @windows
// CHECK: %[[WINDOWS:.*]] = heddle.unfold %{{.*}} at %arg1 from -1 to 0
// CHECK: %[[OF_SUM:.*]] = heddle.unfold %{{.*}} at %arg1 from -1 to 0
// CHECK: %[[OF_WINDOWS:.*]] = arith.addf
// CHECK: heddle.fold %{{.*}} at %arg1 from -1 to 0
func.func @windows(%x: !x, %places: !places) {
  %w = heddle.read @w : tensor<8x8xf32>
  %0 = heddle.matmul %x, %w : !x, tensor<8x8xf32> -> !x
  %1 = heddle.unfold %0 at %places from -1 to 0 : !x, !places -> !u
  %2 = arith.mulf %1, %1 : !u
  %3 = heddle.fold %2 at %places from -1 to 0 : !u, !places -> !x
  %4 = arith.mulf %3, %x : !x
  %5 = heddle.sum columns %4 : !x -> tensor<?xf32, #heddle.dims<"n">>
  %loss = heddle.sum rows %5 : tensor<?xf32, #heddle.dims<"n">> -> tensor<1xf32>
  heddle.accumulate %loss
  return
}
