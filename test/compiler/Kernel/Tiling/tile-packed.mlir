// Matmuls by packed numbers: words are unpacked where they are read. Scales multiply sums if possible.
// RUN: heddle-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile)' | FileCheck %s
// RUN: heddle-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=cpu:x86-64-v3})' | FileCheck %s --check-prefix=THREADS

!x = tensor<?x64xf32, #heddle.dims<"tokens">>
!y = tensor<?x96xf32, #heddle.dims<"tokens">>
heddle.size @tokens max 256

// A scale for each column multiplies the sum over all rows.
// CHECK-LABEL: tile.func @matmul_Tx96(
// CHECK-SAME: %{{.*}}: memref<?x64xf32>, %[[WORDS:.*]]: memref<16x96xi32>, %[[SCALES:.*]]: memref<1x96xf32>
// CHECK: %[[SUM:.*]] = scf.for %[[K:.*]] = %c0 to %c64 step %c8
// CHECK: %[[LOADED:.*]] = tile.load %[[WORDS]][%[[K]], %{{.*}}] columns({{.*}}) {packed = 8 : i64} : memref<16x96xi32> -> tensor<8x64xi32>
// CHECK-NEXT: %[[NUMBERS:.*]] = arith.sitofp %[[LOADED]]
// CHECK-NEXT: tile.dot %{{.*}}, %[[NUMBERS]]
// CHECK: }
// CHECK: tile.load %[[SCALES]]
// CHECK: arith.mulf %[[SUM]]
func.func @columns(%x: !x, %words: tensor<16x96xi32>, %scales: tensor<1x96xf32>) -> !y {
  %w = heddle.dequantize %words scales(%scales) {bits = 8} : (tensor<16x96xi32>, tensor<1x96xf32>) -> tensor<64x96xf32>
  %y = heddle.matmul %x, %w : !x, tensor<64x96xf32> -> !y
  return %y : !y
}

// Five-bit numbers in two words, with an offset for each 32. Scales that are packed or 16-bit are unpacked where they
// are needed.
// CHECK-LABEL: tile.func @matmul_Tx96_2(%arg0: memref<?x64xf32>, %arg1: memref<8x96xi32>, %arg2: memref<2x96xi32>, %arg3: memref<1x96xi32>, %arg4: memref<1x96xf16>
// CHECK: %[[LOW:.*]] = tile.load %arg1{{.*}} {is_unsigned, packed = 4 : i64}
// CHECK: %[[HIGH:.*]] = tile.load %arg2{{.*}} {is_unsigned, packed = 1 : i64}
// CHECK: %[[UP:.*]] = arith.shli %[[HIGH]]
// CHECK: %[[NUMBERS:.*]] = arith.ori %[[UP]], %[[LOW]]
// CHECK: %[[FLOATS:.*]] = arith.sitofp %[[NUMBERS]]
// CHECK: tile.load %arg3{{.*}} {packed = 8 : i64}
// CHECK: tile.load %arg4
// CHECK: arith.extf
// CHECK: %[[SCALED:.*]] = arith.mulf %[[FLOATS]], %{{.*}} : tensor<8x64xf32>
// CHECK: %[[VALUES:.*]] = arith.addf %[[SCALED]], %{{.*}} : tensor<8x64xf32>
// CHECK: tile.dot %{{.*}}, %[[VALUES]]
func.func @stored(%x: !x, %words: tensor<8x96xi32>, %high: tensor<2x96xi32>, %of_scales: tensor<1x96xi32>, %half: tensor<1x96xf16>) -> !y {
  %factors = arith.extf %half : tensor<1x96xf16> to tensor<1x96xf32>
  %scales = heddle.dequantize %of_scales scales(%factors) {bits = 8} : (tensor<1x96xi32>, tensor<1x96xf32>) -> tensor<2x96xf32>
  %w = heddle.dequantize %words high(%high) scales(%scales) offsets(%scales) {bits = 4, high_bits = 1, is_unsigned}
      : (tensor<8x96xi32>, tensor<2x96xi32>, tensor<2x96xf32>, tensor<2x96xf32>) -> tensor<64x96xf32>
  %y = heddle.matmul %x, %w : !x, tensor<64x96xf32> -> !y
  return %y : !y
}

// The numbers are indices into a table. A thread does not leave them at their bits' places.
// CHECK-LABEL: tile.func @matmul_Tx96_3(%arg0: memref<?x64xf32>, %arg1: memref<8x96xi32>, %arg2: memref<1x16xf32>, %arg3: memref<2x96xbf16>
// CHECK: %[[SELECTING:.*]] = tile.load %arg1{{.*}} {is_unsigned, packed = 4 : i64}
// CHECK: %[[SELECTED:.*]] = tile.lookup %arg2[%[[SELECTING]]]
// CHECK: tile.dot %{{.*}}, %[[SELECTED]]
// THREADS-LABEL: tile.func @matmul_Tx96_3
// THREADS: tile.lookup %arg2
func.func @table(%x: !x, %words: tensor<8x96xi32>, %values: tensor<1x16xf32>, %half: tensor<2x96xbf16>) -> !y {
  %scales = arith.extf %half : tensor<2x96xbf16> to tensor<2x96xf32>
  %w = heddle.dequantize %words table(%values) scales(%scales) {bits = 4, is_unsigned}
      : (tensor<8x96xi32>, tensor<1x16xf32>, tensor<2x96xf32>) -> tensor<64x96xf32>
  %y = heddle.matmul %x, %w : !x, tensor<64x96xf32> -> !y
  return %y : !y
}

// A thread with few rows multiplies the sum of the left side's elements by an offset for each 32.
// THREADS-LABEL: tile.func @matmul_Tx96_4
// THREADS: %[[KEPT:.*]] = tile.shared : memref<4x32xf32
// THREADS: %[[LEFT:.*]] = tile.load %arg0
// THREADS: %[[TOTAL:.*]] = tile.reduce sum %[[LEFT]] dim 1
// THREADS: %[[DIVIDED:.*]] = arith.mulf %[[LEFT]], %{{.*}}
// THREADS: tile.store %[[DIVIDED]], %[[KEPT]]
// THREADS: scf.for
// THREADS: %[[PART:.*]] = tile.load %[[KEPT]]
// THREADS: tile.dot %[[PART]], %{{.*}}
// THREADS: tile.broadcast %[[TOTAL]]
heddle.size @few max 4
func.func @offsets(%x: tensor<?x64xf32, #heddle.dims<"few">>, %words: tensor<8x96xi32>, %scales: tensor<2x96xf32>)
    -> tensor<?x96xf32, #heddle.dims<"few">> {
  %w = heddle.dequantize %words scales(%scales) offsets(%scales) {bits = 4, is_unsigned}
      : (tensor<8x96xi32>, tensor<2x96xf32>, tensor<2x96xf32>) -> tensor<64x96xf32>
  %y = heddle.matmul %x, %w : tensor<?x64xf32, #heddle.dims<"few">>, tensor<64x96xf32> -> tensor<?x96xf32, #heddle.dims<"few">>
  return %y : tensor<?x96xf32, #heddle.dims<"few">>
}

// -----

!x = tensor<?x64xf32, #heddle.dims<"tokens">>
!y = tensor<?x96xf32, #heddle.dims<"tokens">>
heddle.size @tokens max 256

// A scale for a group of rows multiplies the step's sums before they are added.
// CHECK-LABEL: tile.func @matmul_Tx96(
// CHECK: scf.for %[[K:.*]] = %c0 to %c64 step %c8 iter_args(%[[SUM:.*]] =
// CHECK: %[[STEP:.*]] = tile.dot %{{.*}}, %{{.*}}, %cst
// CHECK: %[[GROUP:.*]] = arith.divui %[[K]], %c32
// CHECK: %[[SCALES:.*]] = tile.load %{{.*}}[%[[GROUP]], %{{.*}}] columns({{.*}}) {any_padding} : memref<2x96xf32> -> tensor<1x64xf32>
// CHECK: %[[WIDE:.*]] = tile.broadcast %[[SCALES]]
// CHECK: %[[SCALED:.*]] = arith.mulf %[[STEP]], %[[WIDE]]
// CHECK: arith.addf %[[SUM]], %[[SCALED]]
func.func @groups(%x: !x, %words: tensor<8x96xi32>, %scales: tensor<2x96xf32>) -> !y {
  %w = heddle.dequantize %words scales(%scales) {bits = 4} : (tensor<8x96xi32>, tensor<2x96xf32>) -> tensor<64x96xf32>
  %y = heddle.matmul %x, %w : !x, tensor<64x96xf32> -> !y
  return %y : !y
}

// -----

!x = tensor<?x64xf32, #heddle.dims<"tokens">>
heddle.size @tokens max 256
heddle.variable @words weight : tensor<8x64xi32>

// Rows read by index, with a scale for 32 columns.
// CHECK-LABEL: tile.func @embedding_Tx64(
// CHECK: %[[ROWS:.*]] = tile.load %arg0
// CHECK: %[[NUMBERS:.*]] = tile.gather %arg1[%[[ROWS]], %{{.*}}] {packed = 8 : i64} : memref<8x64xi32>
// CHECK: %[[FLOATS:.*]] = arith.sitofp %[[NUMBERS]]
// CHECK: %[[SCALES:.*]] = tile.gather %arg2[%[[ROWS]], %{{.*}}] {repeats = 32 : i64} : memref<32x2xf32>
// CHECK: arith.mulf %[[FLOATS]], %[[SCALES]]
func.func @rows(%ids: tensor<?xi32, #heddle.dims<"tokens">>, %words: tensor<8x64xi32>, %scales: tensor<32x2xf32>) -> !x {
  %table = heddle.dequantize %words scales(%scales) {bits = 8} : (tensor<8x64xi32>, tensor<32x2xf32>) -> tensor<32x64xf32>
  %x = heddle.embedding %ids, %table : tensor<?xi32, #heddle.dims<"tokens">>, tensor<32x64xf32> -> !x
  return %x : !x
}

// -----

!x = tensor<?x72xf32, #heddle.dims<"sequences">>
!y = tensor<?x128xf32, #heddle.dims<"sequences">>
heddle.size @sequences max 4

// Few rows by a transposed matrix, packed or not: lanes lie along the K dimension, whose 72 columns are two times 32
// and 8 more. The sums are read from shared memory as rows.
// CHECK-LABEL: tile.func @matmul_exp_Tx128(
// CHECK-SAME: memref<?x72xf32>, %[[W:.*]]: memref<128x72xf32>
// CHECK-SAME: mapping = #tile.mapping<columns>
// CHECK: %[[SHARED:.*]] = tile.shared
// CHECK: scf.for %[[BLOCK:.*]] = %c0{{.*}} to %c32{{.*}} step %c4
// CHECK: scf.for %[[ROW:.*]] = %c0
// CHECK: scf.for %[[K:.*]] = %c0{{.*}} to %c64{{.*}} step %c32
// CHECK: tile.load %arg0[%[[ROW]], %[[K]]] : memref<?x72xf32> -> tensor<1x32xf32>
// CHECK: tile.load %[[W]][%{{.*}}, %[[K]]] : memref<128x72xf32> -> tensor<4x32xf32>
// CHECK: math.fma
// CHECK: }
// CHECK: tile.load %[[W]][%{{.*}}, %c64{{.*}}] columns(%c72{{.*}})
// CHECK: %[[SUMS:.*]] = tile.reduce sum %{{.*}} dim 1
// CHECK: tile.store %[[SUMS]], %[[SHARED]][%[[BLOCK]], %[[ROW]]]
// CHECK: tile.wait
// CHECK: scf.for %[[LINE:.*]] = %c0
// CHECK: %[[Y:.*]] = tile.load %[[SHARED]][%{{.*}}, %[[LINE]]] {any_padding, transposed}
// CHECK: math.exp %[[Y]]
// CHECK: tile.store %{{.*}}, %{{.*}}[%[[LINE]], %{{.*}}]
func.func @few_rows(%x: !x, %w: tensor<128x72xf32>) -> !y {
  %y = heddle.matmul %x, %w {transpose_rhs} : !x, tensor<128x72xf32> -> !y
  %e = math.exp %y : !y
  return %e : !y
}
