// The kernel that computes rows writes them over the rows that indices name.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=vulkan:software})' | FileCheck %s

!indices = tensor<?xi32, #heddle.dims<"tokens">>
!narrow = tensor<?x16xf32, #heddle.dims<"tokens">>
!rows = tensor<?x256xf32, #heddle.dims<"tokens">>
heddle.size @tokens max 2048

// CHECK-LABEL: func.func @replaced(
// CHECK: tile.launch @matmul_scatter_rows_100x256(%arg0, %arg1, %arg3, %arg2) {{.*}} reuse [2] {inplace}
func.func @replaced(%x: !narrow, %w: tensor<16x256xf32>, %i: !indices, %old: tensor<100x256xf32>) -> tensor<100x256xf32> {
  %y = heddle.matmul %x, %w : !narrow, tensor<16x256xf32> -> !rows
  %new = heddle.scatter_rows %old, %i, %y : tensor<100x256xf32>, !indices, !rows
  return %new : tensor<100x256xf32>
}

// CHECK-LABEL: tile.func @matmul_scatter_rows_100x256(
// CHECK-SAME: %[[X:.*]]: memref<?x16xf32>, %[[W:.*]]: memref<16x256xf32>, %[[OLD:.*]]: memref<100x256xf32>, %[[I:.*]]: memref<?x1xi32>, %[[TO:.*]]: memref<100x256xf32>, %[[N:.*]]: index)
// CHECK: %[[ROWS:.*]] = tile.load %[[I]][%[[ROW:.*]], %{{.*}}] rows(%[[N]])
// CHECK: tile.store %{{.*}}, %[[TO]][%[[ROW]], %{{.*}}] rows(%[[N]]) to %[[ROWS]]
