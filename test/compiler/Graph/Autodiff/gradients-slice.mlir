// The gradients of rows that are sliced from a weight are joined again.
// RUN: split-file %s %t
// RUN: heddle-opt %t/rows.mlir --heddle-differentiate | FileCheck %s
// RUN: not heddle-opt %t/dynamic.mlir --heddle-differentiate 2>&1 | FileCheck %s --check-prefix=DYNAMIC

//--- rows.mlir
!x = tensor<?x2xf32, #heddle.dims<"n">>
!y = tensor<?x3xf32, #heddle.dims<"n">>
!z = tensor<?x4xf32, #heddle.dims<"n">>
heddle.variable @w weight : tensor<6x4xf32>
heddle.variable @grad.w gradient of @w as gradient : tensor<6x4xf32>

// A row that no slice reads gets zeros.
// CHECK-LABEL: func.func @loss
// CHECK-SAME: %[[X:.*]]: tensor<?x2xf32, #heddle.dims<"n">>, %[[Y:.*]]: tensor<?x3xf32, #heddle.dims<"n">>
// CHECK-DAG: %[[DX:.*]] = heddle.matmul %[[X]], %{{.*}} {transpose_lhs} : {{.*}} -> tensor<2x4xf32>
// CHECK-DAG: %[[DY:.*]] = heddle.matmul %[[Y]], %{{.*}} {transpose_lhs} : {{.*}} -> tensor<3x4xf32>
// CHECK-DAG: %[[ZERO:.*]] = heddle.fill 0.000000e+00 : f32 : tensor<1x4xf32>
// CHECK: %[[DW:.*]] = heddle.concat %[[DX]], %[[ZERO]], %[[DY]] : tensor<2x4xf32>, tensor<1x4xf32>, tensor<3x4xf32> to tensor<6x4xf32>
// CHECK: arith.addf %{{.*}}, %[[DW]]
func.func @loss(%x: !x, %y: !y) {
  %w = heddle.read @w : tensor<6x4xf32>
  %a = heddle.slice %w from 0 : tensor<6x4xf32> to tensor<2x4xf32>
  %b = heddle.slice %w from 3 : tensor<6x4xf32> to tensor<3x4xf32>
  %xa = heddle.matmul %x, %a : !x, tensor<2x4xf32> -> !z
  %yb = heddle.matmul %y, %b : !y, tensor<3x4xf32> -> !z
  %sum = arith.addf %xa, %yb : !z
  %row = heddle.sum rows %sum : !z -> tensor<4xf32>
  %loss = heddle.sum columns %row : tensor<4xf32> -> tensor<1xf32>
  heddle.accumulate %loss
  return
}

//--- dynamic.mlir
!x = tensor<?x2xf32, #heddle.dims<"n">>
!z = tensor<?x4xf32, #heddle.dims<"n">>
heddle.variable @w weight : tensor<2x4xf32>
heddle.variable @grad.w gradient of @w as gradient : tensor<2x4xf32>
func.func @loss(%x: !x) {
  %w = heddle.read @w : tensor<2x4xf32>
  %all = heddle.matmul %x, %w : !x, tensor<2x4xf32> -> !z
  // DYNAMIC: error: 'heddle.slice' op has no gradient rule for rows of 'tensor<?x4xf32, #heddle.dims<"n">>'
  %part = heddle.slice %all from 0 : !z to tensor<?x4xf32, #heddle.dims<"some">>
  %row = heddle.sum rows %part : tensor<?x4xf32, #heddle.dims<"some">> -> tensor<4xf32>
  %loss = heddle.sum columns %row : tensor<4xf32> -> tensor<1xf32>
  heddle.accumulate %loss
  return
}
