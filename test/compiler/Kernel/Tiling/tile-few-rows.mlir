// A thread's matmul of few rows by a transposed matrix takes up to four rows at once. They share the elements of a few
// rows of the matrix. The vectors of sums are reduced at the end.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=cpu:x86-64-v4})' | FileCheck %s

heddle.size @tokens max 6

// CHECK: tile.func @matmul_Tx580(%arg0: memref<?x600xf32{{.*}}>, %arg1: memref<580x600xf32
// CHECK: %[[SHARED:.*]] = tile.shared : memref<128x8xf32
// Blocks of four rows of the matrix.
// CHECK: scf.for %{{.*}} = %c0 to %c128 step %c4 {
// CHECK: scf.for %[[ROW:.*]] = %c0 to %[[ROWS:.*]] step %c4 {
// CHECK: %[[ROW1:.*]] = arith.addi %[[ROW]], %c1
// Two vectors in an iteration, then the last whole vector, then a part of a vector.
// The next block's rows are prefetched.
// CHECK: scf.for %[[K:.*]] = %c0 to %c576 step %c32
// CHECK: %[[NEXT:.*]] = arith.addi %{{.*}}, %c4
// CHECK: memref.prefetch %arg1[%[[NEXT]], %[[K]]]
// CHECK-COUNT-7: memref.prefetch %arg1
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

// The packed numbers of rows that share words are unpacked first. Then four rows at once compute their sums.
// CHECK: tile.func @matmul_Tx576(
// CHECK: %[[PANEL:.*]] = tile.shared : memref<8x520xf32
// CHECK: scf.for %[[BLOCK:.*]] = %c0 to %c128 step %c8 {
// CHECK: %[[FIRST:.*]] = arith.addi %{{.*}}, %[[BLOCK]]
// CHECK: scf.for %[[K:.*]] = %c0 to %c512 step %c32 {
// CHECK: memref.prefetch %arg1
// CHECK: tile.load %arg1[%[[FIRST]], %[[K]]] rows(%c576) {packed = 4 : i64} : memref<72x520xi32> -> tensor<8x8xi32>
// CHECK: tile.store %{{.*}}, %[[PANEL]][%c0, %[[K]]]
// CHECK: scf.for %[[ROW:.*]] = %c0 to %c8 step %c4 {
// CHECK: scf.for %{{.*}} = %c0 to %{{.*}} step %c4 {
// CHECK: tile.load %[[PANEL]][%[[ROW]], %{{.*}}] {any_padding} : {{.*}} -> tensor<4x8xf32>
func.func @packed(%x: tensor<?x520xf32, #heddle.dims<"tokens">>, %words: tensor<72x520xi32>, %scales: tensor<576x1xf32>) -> tensor<?x576xf32, #heddle.dims<"tokens">> {
  %w = heddle.dequantize %words scales(%scales) {bits = 4 : i64} : (tensor<72x520xi32>, tensor<576x1xf32>) -> tensor<576x520xf32>
  %0 = heddle.matmul %x, %w {transpose_rhs} : tensor<?x520xf32, #heddle.dims<"tokens">>, tensor<576x520xf32> -> tensor<?x576xf32, #heddle.dims<"tokens">>
  return %0 : tensor<?x576xf32, #heddle.dims<"tokens">>
}
