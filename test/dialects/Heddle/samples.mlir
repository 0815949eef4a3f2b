// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s

!rows = tensor<?x8xf32, #heddle.dims<"tokens">>
!numbers = tensor<?xi32, #heddle.dims<"tokens">>

// CHECK-LABEL: func.func @gumbel(
// CHECK-SAME: %[[ROWS:[a-z0-9]+]]: {{[^%]*}}%[[FEW:[a-z0-9]+]]: {{[^%]*}}%[[SEED:[a-z0-9]+]]: {{[^%]*}}%[[STEP:[a-z0-9]+]]:
func.func @gumbel(%rows: !numbers, %few: tensor<3xi32>, %seed: tensor<2xi32>, %step: tensor<1xi32>) -> (!rows, tensor<3x5xf32>) {
  // CHECK: heddle.gumbel %[[ROWS]] seed %[[SEED]] step %[[STEP]] {stream = 2 : i32} : tensor<?xi32, #heddle.dims<"tokens">> to tensor<?x8xf32, #heddle.dims<"tokens">>
  %noise = heddle.gumbel %rows seed %seed step %step {stream = 2 : i32} : !numbers to !rows
  // CHECK: heddle.gumbel %[[FEW]] seed %[[SEED]] step %[[STEP]] {stream = 0 : i32} : tensor<3xi32> to tensor<3x5xf32>
  %other = heddle.gumbel %few seed %seed step %step {stream = 0 : i32} : tensor<3xi32> to tensor<3x5xf32>
  return %noise, %other : !rows, tensor<3x5xf32>
}

// CHECK-LABEL: func.func @stop_gradient(
// CHECK-SAME: %[[X:[a-z0-9]+]]:
func.func @stop_gradient(%x: !rows) -> !rows {
  // CHECK: heddle.stop_gradient %[[X]] : tensor<?x8xf32, #heddle.dims<"tokens">>
  %y = heddle.stop_gradient %x : !rows
  return %y : !rows
}
