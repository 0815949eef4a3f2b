// Processors with matrix registers multiply pairs of bf16: both operands are packed as words of two neighbours along K.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=cpu:x86-64-v4-amx})' | FileCheck %s
// Operands in f32 are multiplied as on other processors.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=cpu:x86-64-v4-amx})' | FileCheck %s --check-prefix=WIDE
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=cpu:x86-64-v4-vnni})' | FileCheck %s --check-prefix=VECTORS

// VECTORS-NOT: tile.matrix_dot

// CHECK: tile.func @matmul_64x96(%[[X:.*]]: memref<64x128xbf16>, %[[W:.*]]: memref<128x96xbf16>, %{{.*}}: memref<64x96xf32>)
// CHECK-DAG: %[[SUMS:.*]] = tile.shared : memref<64x48xf32
// CHECK-DAG: %[[RIGHT:.*]] = tile.shared : memref<256x48xi32
// CHECK-DAG: %[[LEFT:.*]] = tile.shared : memref<64x272xi32
// CHECK: %[[W_TILE:.*]] = tile.load %[[W]][%{{.*}}, %{{.*}}] {any_padding} : {{.*}} -> tensor<32x16xbf16>
// CHECK: %[[W_PAIRS:.*]] = tile.pairs %[[W_TILE]] dim 0 : tensor<32x16xbf16> -> tensor<16x16xi32>
// CHECK: tile.store %[[W_PAIRS]], %[[RIGHT]]
// CHECK: %[[X_TILE:.*]] = tile.load %[[X]][%{{.*}}, %{{.*}}] {any_padding} : {{.*}} -> tensor<8x32xbf16>
// CHECK: %[[X_PAIRS:.*]] = tile.pairs %[[X_TILE]] dim 1 : tensor<8x32xbf16> -> tensor<8x16xi32>
// CHECK: tile.store %[[X_PAIRS]], %[[LEFT]]
// Four registers of sums, and for each 32 of K two of each operand.
// CHECK: tile.matrix_load 0, %[[SUMS]]
// CHECK: tile.matrix_load 3, %[[SUMS]]
// CHECK: scf.for %[[K:.*]] = %c0 to %{{.*}} step %c32 {
// CHECK: %[[WORD:.*]] = arith.divui %[[K]], %c2
// CHECK: tile.matrix_load 4, %[[LEFT]][%{{.*}}, %[[WORD]]]
// CHECK: tile.matrix_load 6, %[[RIGHT]][%[[WORD]], %{{.*}}]
// CHECK: tile.matrix_load 5, %[[LEFT]]
// CHECK: tile.matrix_load 7, %[[RIGHT]]
// CHECK: tile.matrix_dot 0, 4, 6
// CHECK: tile.matrix_dot 1, 4, 7
// CHECK: tile.matrix_dot 2, 5, 6
// CHECK: tile.matrix_dot 3, 5, 7
// CHECK: tile.matrix_store 0, %[[SUMS]]
// CHECK: tile.matrix_store 3, %[[SUMS]]
func.func @product(%x: tensor<64x128xbf16>, %w: tensor<128x96xbf16>) -> tensor<64x96xf32> {
  %y = heddle.matmul %x, %w : tensor<64x128xbf16>, tensor<128x96xbf16> -> tensor<64x96xf32>
  return %y : tensor<64x96xf32>
}

// A transposed right operand has its pairs in its rows. Their words are turned through scratch memory.
// CHECK: tile.func @matmul_64x96_2(
// CHECK: %[[TURNED:.*]] = tile.pairs %{{.*}} dim 1 : tensor<16x32xbf16> -> tensor<16x16xi32>
// CHECK: tile.store %[[TURNED]], %[[MEMORY:.*]][%c0, %c0]
// CHECK: tile.load %[[MEMORY]][%c0, %c0] {any_padding, transposed} : {{.*}} -> tensor<16x16xi32>
func.func @transposed_right(%x: tensor<64x128xbf16>, %w: tensor<96x128xbf16>) -> tensor<64x96xf32> {
  %y = heddle.matmul %x, %w {transpose_rhs} : tensor<64x128xbf16>, tensor<96x128xbf16> -> tensor<64x96xf32>
  return %y : tensor<64x96xf32>
}

// A transposed left operand has them in its columns. A K that 32 does not divide is padded with zeros.
// CHECK: tile.func @matmul_64x96_3(
// CHECK: tile.load %{{.*}} rows(%{{.*}}) : memref<100x96xbf16> -> tensor<32x16xbf16>
// CHECK: %[[ROWS:.*]] = tile.load %{{.*}} rows(%{{.*}}) : memref<100x64xbf16> -> tensor<32x16xbf16>
// CHECK: %[[OF_ROWS:.*]] = tile.pairs %[[ROWS]] dim 0 : tensor<32x16xbf16> -> tensor<16x16xi32>
// CHECK: tile.store %[[OF_ROWS]], %[[SCRATCH:.*]][%c0, %c0]
// CHECK: tile.load %[[SCRATCH]][%c0, %c0] {any_padding, transposed} : {{.*}} -> tensor<16x16xi32>
func.func @transposed_left(%x: tensor<100x64xbf16>, %w: tensor<100x96xbf16>) -> tensor<64x96xf32> {
  %y = heddle.matmul %x, %w {transpose_lhs} : tensor<100x64xbf16>, tensor<100x96xbf16> -> tensor<64x96xf32>
  return %y : tensor<64x96xf32>
}

// WIDE: tile.func @matmul_48x96(
// WIDE-NOT: tile.matrix_dot
// WIDE: tile.dot
func.func @wide(%x: tensor<48x128xf32>, %w: tensor<128x96xf32>) -> tensor<48x96xf32> {
  %y = heddle.matmul %x, %w : tensor<48x128xf32>, tensor<128x96xf32> -> tensor<48x96xf32>
  return %y : tensor<48x96xf32>
}
