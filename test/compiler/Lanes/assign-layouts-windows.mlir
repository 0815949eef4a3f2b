// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-assign-layouts{target=vulkan:portable}))' | FileCheck %s

// If the left side is transposed in blocks, each lane has all rows of the K dimension. So it also has each row's
// number, here whether the row counts.
// CHECK-LABEL: tile.func @gradient_of_windows
// CHECK: %[[INSIDE:.*]] = arith.cmpi eq, %{{.*}} : tensor<16x1xi32, [[LEFT:#tile.simt<lanes = \[1, 16\], strides = \[1, 8\], vector = 1>]]>
// CHECK: tile.broadcast %[[INSIDE]] : tensor<16x1xi1, [[LEFT]]> -> tensor<16x64xi1, [[LEFT]]>
// CHECK: tile.dot
tile.func @gradient_of_windows(%x: memref<256x64xf32>, %p: memref<256x1xi32>, %g: memref<256x64xf32>, %w: memref<64x64xf32>)
    attributes {workgroup = 128 : i64, mapping = #tile.mapping<blocks>, vector = 4 : i64} {
  %sums = arith.constant dense<0.0> : tensor<64x64xf32>
  %none = arith.constant dense<0.0> : tensor<16x64xf32>
  %one = arith.constant dense<1> : tensor<16x1xi32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %here = tile.load %p[%c0, %c0] : memref<256x1xi32> -> tensor<16x1xi32>
  %there = tile.load %p[%c1, %c0] : memref<256x1xi32> -> tensor<16x1xi32>
  %expected = arith.addi %here, %one : tensor<16x1xi32>
  %inside = arith.cmpi eq, %there, %expected : tensor<16x1xi32>
  %rows = tile.load %x[%c1, %c0] : memref<256x64xf32> -> tensor<16x64xf32>
  %all = tile.broadcast %inside : tensor<16x1xi1> -> tensor<16x64xi1>
  %windows = arith.select %all, %rows, %none : tensor<16x64xi1>, tensor<16x64xf32>
  %gradient = tile.load %g[%c0, %c0] : memref<256x64xf32> -> tensor<16x64xf32>
  %product = tile.dot %windows, %gradient, %sums {transpose_lhs} : tensor<16x64xf32>, tensor<16x64xf32> -> tensor<64x64xf32>
  tile.store %product, %w[%c0, %c0] : tensor<64x64xf32>, memref<64x64xf32>
  tile.return
}
