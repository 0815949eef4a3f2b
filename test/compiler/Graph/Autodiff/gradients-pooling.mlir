// Each row gets the gradient of its segment's sum. For a maximum or minimum, only the chosen row gets it.
// RUN: heddle-opt %s --heddle-differentiate | FileCheck %s

!rows = tensor<?x4xf32, #heddle.dims<"n">>
!segments = tensor<?xi32, #heddle.dims<"s">>
!pooled = tensor<?x4xf32, #heddle.dims<"s">>
heddle.variable @w weight : tensor<4xf32>
heddle.variable @grad.w gradient of @w as gradient : tensor<4xf32>

// CHECK-LABEL: func.func @sum
// CHECK-SAME: %[[X:.*]]: tensor<?x4xf32, #heddle.dims<"n">>, %[[S:.*]]: tensor<?xi32, #heddle.dims<"s">>, %[[L:.*]]: tensor<?xi32, #heddle.dims<"s">>
// CHECK: heddle.segment sum
// CHECK: %[[DY:.*]] = heddle.broadcast %{{.*}} to tensor<?x4xf32, #heddle.dims<"s">>
// CHECK: %{{.*}}, %[[SEQUENCE:.*]] = heddle.locate rows(%[[S]], %[[L]]) {row_size = "length"} : tensor<?xi32, #heddle.dims<"s">> -> tensor<?xi32, #heddle.dims<"n">>
// CHECK: %[[DX:.*]] = heddle.embedding %[[SEQUENCE]], %[[DY]] :
// CHECK-NOT: arith.select
// CHECK: arith.mulf %[[DX]], %[[X]]
// CHECK: heddle.write @grad.w
func.func @sum(%x: !rows, %s: !segments, %l: !segments) {
  %w = heddle.read @w : tensor<4xf32>
  %wide = heddle.broadcast %w : tensor<4xf32> to !rows
  %product = arith.mulf %wide, %x : !rows
  %y = heddle.segment sum %product segments(%s, %l) {row_size = "length"} : !rows, !segments -> !pooled
  %columns = heddle.sum rows %y : !pooled -> tensor<4xf32>
  %loss = heddle.sum columns %columns : tensor<4xf32> -> tensor<1xf32>
  heddle.accumulate %loss
  return
}

// CHECK-LABEL: func.func @max
// CHECK-SAME: %[[X:.*]]: tensor<?x4xf32, #heddle.dims<"n">>, %[[S:.*]]: tensor<?xi32, #heddle.dims<"s">>, %[[L:.*]]: tensor<?xi32, #heddle.dims<"s">>
// CHECK: %{{.*}}, %[[CHOSEN:.*]] = heddle.segment max
// CHECK: %[[DY:.*]] = heddle.broadcast %{{.*}} to tensor<?x4xf32, #heddle.dims<"s">>
// CHECK: %{{.*}}, %[[SEQUENCE:.*]] = heddle.locate rows(%[[S]], %[[L]]) {row_size = "length"}
// CHECK: %[[SPREAD:.*]] = heddle.embedding %[[SEQUENCE]], %[[DY]] :
// CHECK: %[[ROW:.*]] = heddle.embedding %[[SEQUENCE]], %[[CHOSEN]] : {{.*}} -> tensor<?x4xi32, #heddle.dims<"n">>
// CHECK: %[[IOTA:.*]] = heddle.iota : tensor<?xi32, #heddle.dims<"n">>
// CHECK: %[[OWN:.*]] = heddle.broadcast %[[IOTA]] :
// CHECK: %[[IS:.*]] = arith.cmpi eq, %[[ROW]], %[[OWN]]
// CHECK: %[[ZERO:.*]] = heddle.fill 0.000000e+00
// CHECK: %[[DX:.*]] = arith.select %[[IS]], %[[SPREAD]], %[[ZERO]]
// CHECK: arith.mulf %[[DX]], %[[X]]
// CHECK: heddle.write @grad.w
func.func @max(%x: !rows, %s: !segments, %l: !segments) {
  %w = heddle.read @w : tensor<4xf32>
  %wide = heddle.broadcast %w : tensor<4xf32> to !rows
  %product = arith.mulf %wide, %x : !rows
  %y, %chosen = heddle.segment max %product segments(%s, %l) {row_size = "length"}
      : !rows, !segments -> !pooled, tensor<?x4xi32, #heddle.dims<"s">>
  %columns = heddle.sum rows %y : !pooled -> tensor<4xf32>
  %loss = heddle.sum columns %columns : tensor<4xf32> -> tensor<1xf32>
  heddle.accumulate %loss
  return
}
