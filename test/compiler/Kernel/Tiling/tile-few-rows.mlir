// A thread's matmul of few rows by a transposed matrix takes up to four rows at once, which share the elements of a few rows of the
// matrix. The vectors of sums are added up at the end.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=cpu:x86-64-v4})' | FileCheck %s

heddle.size @tokens max 6

// CHECK: tile.func @matmul_Tx580(%arg0: memref<?x600xf32{{.*}}>, %arg1: memref<580x600xf32
// CHECK: %[[SHARED:.*]] = tile.shared : memref<128x8xf32
// Blocks of four rows of the matrix.
// CHECK: scf.for %{{.*}} = %c0 to %c128 step %c4 {
// CHECK: scf.for %[[ROW:.*]] = %c0 to %[[ROWS:.*]] step %c4 {
// CHECK: %[[ROW1:.*]] = arith.addi %[[ROW]], %c1
// Two vectors an iteration, then the last whole vector, and then a part of one.
// CHECK: scf.for %{{.*}} = %c0 to %c576 step %c32
// CHECK: %[[X:.*]] = tile.load %arg0[%[[ROW]], %{{.*}}] rows(%[[ROWS]]) {any_padding} : {{.*}} -> tensor<1x16xf32>
// CHECK: tile.load %arg0[%[[ROW1]], %{{.*}}] rows(%[[ROWS]])
// CHECK: %[[W:.*]] = tile.load %arg1[{{.*}}] rows(%c580) : memref<580x600xf32{{.*}}> -> tensor<4x16xf32>
// CHECK: tile.broadcast %[[X]]
// CHECK-COUNT-4: math.fma %{{.*}}, %[[W]]
// CHECK: tile.load %arg1
// CHECK-COUNT-4: math.fma
// CHECK: scf.for %{{.*}} = %c576 to %c592 step %c16
// CHECK: columns(%c600)
// CHECK-COUNT-4: tile.reduce sum
func.func @logits(%x: tensor<?x600xf32, #heddle.dims<"tokens">>, %w: tensor<580x600xf32>) -> tensor<?x580xf32, #heddle.dims<"tokens">> {
  %0 = heddle.matmul %x, %w {transpose_rhs} : tensor<?x600xf32, #heddle.dims<"tokens">>, tensor<580x600xf32> -> tensor<?x580xf32, #heddle.dims<"tokens">>
  return %0 : tensor<?x580xf32, #heddle.dims<"tokens">>
}
