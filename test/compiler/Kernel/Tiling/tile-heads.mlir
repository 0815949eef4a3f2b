// Sums over each part of a row: a workgroup has one part of some rows. Sums over rows that have parts: no tile crosses
// two parts.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-count-costs,heddle-tile,canonicalize,cse)' | FileCheck %s

heddle.size @tokens max 64
!heads = tensor<?x3x12xf32, #heddle.dims<"tokens">>
!numbers = tensor<?x3xf32, #heddle.dims<"tokens">>

// The number of a part is read in the epilogue, and stored at its part.
// CHECK: tile.launch @[[NORM:sum_mulf_mulf_[^(]*]]({{.*}}grid [#tile.grid<"tokens", 8, 1>, #tile.grid<"", 1, 3>, #tile.grid<"", 1, 1>]
// CHECK: tile.launch @[[SUM:sum_mulf_36[^(]*]]({{.*}}grid [#tile.grid<"", 1, 1>, #tile.grid<"", 1, 1>, #tile.grid<"", 1, 3>]
// CHECK: tile.func @[[NORM]](%arg0: memref<?x36xf32>, %arg1: memref<1x12xf32>, %arg2: memref<?x3xf32>, %arg3: memref<?x36xf32>, %arg4: index)
// CHECK-SAME: mapping = #tile.mapping<rows>, vector = 4
// CHECK: %[[PART:.*]] = gpu.block_id y
// CHECK: %[[FIRST:.*]] = arith.muli %[[PART]], %c12
// CHECK: %[[X:.*]] = tile.load %arg0[%{{.*}}, %[[FIRST]]]
// CHECK: tile.reduce sum
// CHECK: tile.store %{{.*}}, %arg2[%{{.*}}, %[[PART]]] rows({{.*}}) : tensor<{{[0-9]+}}x1xf32>
// CHECK: %[[IN:.*]] = arith.remui %[[FIRST]], %c12
// CHECK: tile.load %arg1[%c0, %[[IN]]]
// CHECK: tile.store %{{.*}}, %arg3[%{{.*}}, %[[FIRST]]]

// CHECK: tile.func @[[SUM]](%arg0: memref<?x36xf32>, %arg1: memref<?x3xf32>, %arg2: memref<1x36xf32>, %arg3: index)
// CHECK: %[[PART:.*]] = gpu.block_id z
// CHECK: tile.load %arg1[%{{.*}}, %[[PART]]] {{.*}} : memref<?x3xf32> -> tensor<{{[0-9]+}}x1xf32>
func.func @norm(%x: !heads, %gain: tensor<12xf32>) -> (!numbers, !heads, tensor<36xf32>) {
  %square = arith.mulf %x, %x : !heads
  %sum = heddle.sum columns %square : !heads -> !numbers
  %wide = heddle.broadcast %sum : !numbers to !heads
  %gains = heddle.broadcast %gain : tensor<12xf32> to !heads
  %0 = arith.mulf %x, %wide : !heads
  %y = arith.mulf %0, %gains : !heads
  %product = arith.mulf %x, %wide : !heads
  %rows = heddle.sum rows %product : !heads -> tensor<36xf32>
  return %sum, %y, %rows : !numbers, !heads, tensor<36xf32>
}
