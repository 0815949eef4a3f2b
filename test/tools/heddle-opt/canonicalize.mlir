// RUN: heddle-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @add_zero(
// CHECK-SAME: %[[X:.*]]: tensor<4xi32>)
// CHECK-NEXT: return %[[X]]
func.func @add_zero(%x: tensor<4xi32>) -> tensor<4xi32> {
  %zero = arith.constant dense<0> : tensor<4xi32>
  %sum = arith.addi %x, %zero : tensor<4xi32>
  return %sum : tensor<4xi32>
}
