// Parts of a tensor are kernels' results, each in one place. Other values are copied there.
// RUN: heddle-opt %s --heddle-fuse-kernels --heddle-separate-states | FileCheck %s

// CHECK-LABEL: func.func @twice
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK: %[[SQUARE:.*]] = heddle.kernel "mulf"
// CHECK: %[[AGAIN:.*]] = heddle.kernel "copy"(%[[SQUARE]] : tensor<4xf32>)
// CHECK: %[[GIVEN:.*]] = heddle.kernel "copy"(%[[X]] : tensor<4xf32>)
// CHECK: heddle.concat %[[SQUARE]], %[[AGAIN]], %[[GIVEN]]
func.func @twice(%x: tensor<4xf32>) -> tensor<12xf32> {
  %0 = arith.mulf %x, %x : tensor<4xf32>
  %1 = heddle.concat %0, %0, %x : tensor<4xf32>, tensor<4xf32>, tensor<4xf32> to tensor<12xf32>
  return %1 : tensor<12xf32>
}
