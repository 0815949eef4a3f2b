// A thread's matmul of few rows walks down the right side a few rows at a time. Each step walks along a block of
// columns, whose sums are in scratch memory.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=cpu:x86-64-v3})' | FileCheck %s

heddle.size @tokens max 8
!few = tensor<?x576xf32, #heddle.dims<"tokens">>

// CHECK-LABEL: func.func @one(
// CHECK: tile.launch @matmul_addf_1x580({{.*}} grid [#tile.grid<"", 1, 1>, #tile.grid<"", 1, 2>
func.func @one(%x: tensor<1x516xf32>, %w: tensor<516x580xf32>, %b: tensor<1x580xf32>) -> tensor<1x580xf32> {
  %p = heddle.matmul %x, %w : tensor<1x516xf32>, tensor<516x580xf32> -> tensor<1x580xf32>
  %0 = arith.addf %p, %b : tensor<1x580xf32>
  return %0 : tensor<1x580xf32>
}

func.func @scaled(%x: tensor<1x512xf32>, %w: tensor<64x576xi32>, %s: tensor<1x576xf32>) -> tensor<1x576xf32> {
  %d = heddle.dequantize %w scales(%s) {bits = 4 : i64} : (tensor<64x576xi32>, tensor<1x576xf32>) -> tensor<512x576xf32>
  %p = heddle.matmul %x, %d : tensor<1x512xf32>, tensor<512x576xf32> -> tensor<1x576xf32>
  return %p : tensor<1x576xf32>
}

!halves = tensor<16x576xf16>
!scales = tensor<16x576xf32>
!words = tensor<128x576xi32>
!rows = tensor<?x512xf32, #heddle.dims<"tokens">>
func.func @groups(%x: !rows, %w: !words, %s: !halves) -> !few {
  %wide = arith.extf %s : !halves to !scales
  %d = heddle.dequantize %w scales(%wide) {bits = 8 : i64} : (!words, !scales) -> tensor<512x576xf32>
  %p = heddle.matmul %x, %d : !rows, tensor<512x576xf32> -> !few
  return %p : !few
}

func.func @few(%x: !few, %w: tensor<576x576xf32>) -> !few {
  %p = heddle.matmul %x, %w : !few, tensor<576x576xf32> -> !few
  return %p : !few
}

// CHECK: tile.func @matmul_addf_1x580(
// CHECK-SAME: vector = 8
// CHECK: %[[SUMS:.*]] = tile.shared : memref<1x304xf32
// CHECK: %[[END:.*]] = arith.minsi %{{.*}}, %c580
// CHECK: scf.for %{{.*}} to %[[END]] step %c16 {
// CHECK: tile.store %cst, %[[SUMS]]
// CHECK: scf.for %[[K:.*]] = %c0 to %c516 step %c6 {
// CHECK: %[[LEFT:.*]] = tile.load %arg0[%{{.*}}, %[[K]]]
// CHECK: scf.for %[[COLUMN:.*]] = %{{.*}} to %[[END]] step %c16 {
// CHECK: %[[AHEAD:.*]] = arith.addi %[[K]], %c12
// CHECK: memref.prefetch %arg1[%[[AHEAD]], %[[COLUMN]]], read, locality<3>, data
// CHECK-COUNT-5: memref.prefetch %arg1[%{{.*}}, %[[COLUMN]]]
// CHECK: %[[BEFORE:.*]] = tile.load %[[SUMS]]
// CHECK: %[[RIGHT:.*]] = tile.load %arg1[%[[K]], %[[COLUMN]]] columns(%c580) {any_padding} : memref<516x580xf32> -> tensor<6x16xf32>
// CHECK: %[[AFTER:.*]] = tile.dot %[[LEFT]], %[[RIGHT]], %[[BEFORE]]
// CHECK: tile.store %[[AFTER]], %[[SUMS]]
// The epilogue.
// CHECK: scf.for %{{.*}} to %[[END]] step %c16 {
// CHECK: %[[SUM:.*]] = tile.load %[[SUMS]]
// CHECK: arith.addf %[[SUM]]
// CHECK: tile.store %{{.*}}, %arg3[

// Words are prefetched two steps ahead. Numbers keep their bits' places in a word. So the left side's elements are
// divided by powers of two, and the biases of the numbers are subtracted. Scales of columns multiply the sums.
// CHECK: tile.func @matmul_1x576(
// CHECK: %[[SUMS:.*]] = tile.shared : memref<1x288xf32
// CHECK: scf.for %[[K:.*]] = %c0 to %c512 step %c16 {
// CHECK: %[[LEFT:.*]] = tile.load %arg0[%{{.*}}, %[[K]]]
// CHECK: %[[FACTORS:.*]] = arith.constant dense<{{.*}}1.000000e+00, 6.250000e-02, 3.906250e-03, {{.*}}, 1.000000e+00]]> : tensor<1x16xf32>
// CHECK: %[[BIASES:.*]] = arith.constant dense<{{.*}}-8.000000e+00, {{.*}}-8.000000e+00, 0.000000e+00]]> : tensor<1x16xf32>
// CHECK: %[[BIASED:.*]] = arith.mulf %[[LEFT]], %[[BIASES]]
// CHECK: %[[START:.*]] = tile.reduce sum %[[BIASED]] dim 1
// CHECK: %[[DIVIDED:.*]] = arith.mulf %[[LEFT]], %[[FACTORS]]
// CHECK: scf.for %[[COLUMN:.*]] = %{{.*}} step %c32 {
// CHECK: %[[AHEAD:.*]] = arith.addi %[[K]], %c32
// CHECK: %[[WORD:.*]] = arith.divui %[[AHEAD]], %c8
// CHECK: memref.prefetch %arg1[%[[WORD]], %[[COLUMN]]], read, locality<3>, data
// CHECK: %[[FROM:.*]] = tile.broadcast %[[START]]
// CHECK: tile.load %arg1[%[[K]], %[[COLUMN]]] {in_place, packed = 4 : i64} : memref<64x576xi32> -> tensor<16x32xi32>
// CHECK: tile.dot %[[DIVIDED]], %{{.*}}, %[[FROM]]
// CHECK: %[[SCALES:.*]] = tile.load %arg2
// CHECK: %[[SCALED:.*]] = arith.mulf %{{.*}}, %[[SCALES]]
// CHECK: tile.store %[[SCALED]], %[[SUMS]]

// Several rows take a group of 32 numbers in a step and unpack the words one by one. The left side, divided by powers
// of two, is in scratch memory.
// CHECK: tile.func @matmul_Tx576(
// CHECK: %[[KEPT:.*]] = tile.shared : memref<8x32xf32
// CHECK: %[[SUMS:.*]] = tile.shared : memref<8x288xf32
// CHECK: scf.for %[[K:.*]] = %c0 to %c512 step %c32 {
// CHECK: %[[START:.*]] = tile.reduce sum
// CHECK: tile.store %{{.*}}, %[[KEPT]][%c0, %c0] : tensor<8x32xf32>
// CHECK: scf.for %[[COLUMN:.*]] = %{{.*}} step %c8 {
// CHECK: arith.addi %[[K]], %c32
// CHECK-COUNT-8: memref.prefetch %arg1
// CHECK: %[[FROM:.*]] = tile.broadcast %[[START]]
// CHECK: %[[ALL:.*]] = scf.for %[[ROW:.*]] = %c0 to %c32 step %c4 iter_args(%[[SUM:.*]] = %[[FROM]])
// CHECK: %[[LEFT:.*]] = tile.load %[[KEPT]][%c0, %[[ROW]]]
// CHECK: %[[NUMBER:.*]] = arith.addi %[[K]], %[[ROW]]
// CHECK: tile.load %arg1[%[[NUMBER]], %[[COLUMN]]] {in_place, packed = 8 : i64} : memref<128x576xi32> -> tensor<4x8xi32>
// CHECK: tile.dot %[[LEFT]], %{{.*}}, %[[SUM]]
// CHECK: %[[BEFORE:.*]] = tile.load %[[SUMS]]
// CHECK: tile.load %arg2{{.*}} -> tensor<1x8xf16>
// CHECK: %[[SCALED:.*]] = arith.mulf %[[ALL]]
// CHECK: arith.addf %[[BEFORE]], %[[SCALED]]

// Half of the registers hold the sums of eight rows. The rows two steps ahead are prefetched.
// CHECK: tile.func @matmul_Tx576_2(
// CHECK: tile.shared : memref<8x288xf32
// CHECK: scf.for %[[K:.*]] = %c0 to %c576 step %c8 {
// CHECK: tile.load %arg0[%{{.*}}] rows(%{{.*}}) {{.*}} -> tensor<8x8xf32>
// CHECK: scf.for %[[COLUMN:.*]] = %{{.*}} step %c8 {
// CHECK: %[[AHEAD:.*]] = arith.addi %[[K]], %c16
// CHECK-COUNT-8: memref.prefetch %arg1[%{{.*}}, %[[COLUMN]]]
// CHECK: tile.dot {{.*}} -> tensor<8x8xf32>

// A workgroup takes a panel of 64 columns. Row k of panel p is row 512 p + k of the memory. The words four steps ahead
// are prefetched.
!panels = tensor<576x64xi32>
func.func @panels(%x: tensor<1x512xf32>, %w: !panels, %s: tensor<144x64xf32>) -> tensor<1x576xf32> {
  %d = heddle.dequantize %w scales(%s) {bits = 4 : i64} : (!panels, tensor<144x64xf32>) -> tensor<512x576xf32>
  %p = heddle.matmul %x, %d : tensor<1x512xf32>, tensor<512x576xf32> -> tensor<1x576xf32>
  return %p : tensor<1x576xf32>
}
// CHECK: tile.func @matmul_1x576_2(
// CHECK: %[[LEFT:.*]] = tile.shared : memref<1x32xf32
// CHECK: %[[SUMS:.*]] = tile.shared : memref<1x64xf32
// CHECK: scf.for %[[K:.*]] = %c0 to %c512 step %c32 {
// CHECK: tile.store %{{.*}}, %[[LEFT]]
// CHECK: scf.for %[[COLUMN:.*]] = %{{.*}} step %c32 {
// CHECK: scf.for %[[IN_STEP:.*]] = %c0 to %c32 step %c8 iter_args
// CHECK: %[[PART:.*]] = tile.load %[[LEFT]][%c0, %[[IN_STEP]]]
// CHECK: %[[ROW:.*]] = arith.addi %[[K]], %[[IN_STEP]]
// CHECK: arith.addi %[[ROW]], %c128
// CHECK: %[[PANEL:.*]] = arith.divui %[[COLUMN]], %c64
// CHECK: %[[FIRST:.*]] = arith.muli %[[PANEL]], %c512
// CHECK: %[[IN_PANEL:.*]] = arith.remui %[[COLUMN]], %c64
// CHECK: memref.prefetch %arg1
// CHECK: %[[IN_MEMORY:.*]] = arith.addi %[[FIRST]], %[[ROW]]
// CHECK: %[[WORDS:.*]] = tile.load %arg1[%[[IN_MEMORY]], %[[IN_PANEL]]] {in_place, packed = 4 : i64} : memref<576x64xi32>
// CHECK: tile.dot %[[PART]], %{{.*}}
// CHECK: tile.load %arg2[%{{.*}}] {any_padding} : memref<144x64xf32> -> tensor<1x32xf32>
// CHECK: tile.store %{{.*}}, %[[SUMS]]

// Several rows prefetch the words two steps ahead.
!result = tensor<?x576xf32, #heddle.dims<"tokens">>
func.func @rows(%x: !rows, %w: !panels, %s: tensor<144x64xf32>) -> !result {
  %d = heddle.dequantize %w scales(%s) {bits = 4 : i64} : (!panels, tensor<144x64xf32>) -> tensor<512x576xf32>
  %p = heddle.matmul %x, %d : !rows, tensor<512x576xf32> -> !result
  return %p : !result
}
// CHECK: tile.func @matmul_Tx576_3(
// CHECK: tile.shared : memref<8x32xf32
// CHECK: tile.shared : memref<8x64xf32
// CHECK: scf.for %{{.*}} = %c0 to %c32 step %c8 iter_args
// CHECK: %[[ROW:.*]] = arith.addi
// CHECK: %[[AHEAD:.*]] = arith.addi %[[ROW]], %c64
// CHECK: memref.prefetch %arg1

// A weight of 16 bits in panels. A block is a panel, and the rows two steps ahead are prefetched as they are stored: half of
// them beside each of two tiles.
heddle.variable @in_panels weight : tensor<4608x64xbf16> {columns = 576}
func.func @halves(%x: tensor<1x512xf32>) -> tensor<1x576xf32> {
  %panels = heddle.read @in_panels : tensor<4608x64xbf16>
  %joined = heddle.join_panels %panels : tensor<4608x64xbf16> -> tensor<512x576xbf16>
  %w = arith.extf %joined : tensor<512x576xbf16> to tensor<512x576xf32>
  %p = heddle.matmul %x, %w : tensor<1x512xf32>, tensor<512x576xf32> -> tensor<1x576xf32>
  return %p : tensor<1x576xf32>
}
// CHECK: tile.func @matmul_1x576_3(%arg0: memref<1x512xf32>, %arg1: memref<4608x64xbf16>
// CHECK: tile.shared : memref<1x64xf32
// CHECK: scf.for %[[K:.*]] = %c0 to %c512 step %c8 {
// CHECK: scf.for %[[COLUMN:.*]] = %[[BEGIN:.*]] to %{{.*}} step %c32 {
// CHECK: %[[AHEAD:.*]] = arith.addi %[[K]], %c16
// CHECK: %[[TILE:.*]] = arith.divui %{{.*}}, %c32
// CHECK: %[[SHARE:.*]] = arith.muli %[[TILE]], %c4
// CHECK: %[[OF_TILE:.*]] = arith.addi %[[AHEAD]], %[[SHARE]]
// CHECK: %[[PANEL:.*]] = arith.divui %[[BEGIN]], %c64
// CHECK: %[[FIRST:.*]] = arith.muli %[[PANEL]], %c512
// CHECK: %[[ROW:.*]] = arith.addi %[[FIRST]], %[[OF_TILE]]
// CHECK: memref.prefetch %arg1[%[[ROW]], %{{.*}}]
// CHECK: memref.prefetch %arg1[%[[ROW]], %{{.*}}]
// CHECK-COUNT-6: memref.prefetch %arg1
// CHECK-NOT: memref.prefetch
// CHECK: tile.load %arg1[%{{.*}}, %{{.*}}] : memref<4608x64xbf16> -> tensor<8x32xbf16>

// The same with several rows, in f32: each of eight tiles prefetches a row of the panel, four lines.
heddle.variable @floats_in_panels weight : tensor<4608x64xf32> {columns = 576}
func.func @floats(%x: !rows) -> !result {
  %panels = heddle.read @floats_in_panels : tensor<4608x64xf32>
  %w = heddle.join_panels %panels : tensor<4608x64xf32> -> tensor<512x576xf32>
  %p = heddle.matmul %x, %w : !rows, tensor<512x576xf32> -> !result
  return %p : !result
}
// CHECK: tile.func @matmul_Tx576_4(%arg0: memref<?x512xf32
// CHECK: scf.for %{{.*}} = %c0 to %c512 step %c8 {
// CHECK: scf.for %{{.*}} step %c8 {
// CHECK-COUNT-4: memref.prefetch %arg1
// CHECK-NOT: memref.prefetch
// CHECK: tile.load %arg1[%{{.*}}, %{{.*}}] : memref<4608x64xf32> -> tensor<8x8xf32>
// CHECK: tile.dot {{.*}} -> tensor<8x8xf32>

// Without panels, a run has at least 1.5 KB of the weight as it is stored: 768 columns.
heddle.variable @in_rows weight : tensor<512x1536xbf16>
func.func @rows_of_halves(%x: tensor<1x512xf32>) -> tensor<1x1536xf32> {
  %rows = heddle.read @in_rows : tensor<512x1536xbf16>
  %w = arith.extf %rows : tensor<512x1536xbf16> to tensor<512x1536xf32>
  %p = heddle.matmul %x, %w : tensor<1x512xf32>, tensor<512x1536xf32> -> tensor<1x1536xf32>
  return %p : tensor<1x1536xf32>
}
// CHECK: tile.func @matmul_1x1536(%arg0: memref<1x512xf32>, %arg1: memref<512x1536xbf16>
// CHECK: tile.shared : memref<1x768xf32
// CHECK-COUNT-8: memref.prefetch %arg1

// A right side that fits into a cache is multiplied in register tiles. Tiles read past the end of the right side's rows,
// except in the last step, which is masked.
func.func @cached(%x: tensor<?x64xf32, #heddle.dims<"tokens">>, %w: tensor<64x172xf32>) -> tensor<?x172xf32, #heddle.dims<"tokens">> {
  %p = heddle.matmul %x, %w : tensor<?x64xf32, #heddle.dims<"tokens">>, tensor<64x172xf32> -> tensor<?x172xf32, #heddle.dims<"tokens">>
  return %p : tensor<?x172xf32, #heddle.dims<"tokens">>
}
// CHECK: tile.func @matmul_Tx172(
// CHECK-SAME: vector = 8
// CHECK-NOT: tile.shared
// CHECK: %[[WHOLE:.*]] = scf.for %{{.*}} = %c0 to %c56 step %c8 iter_args(
// CHECK: tile.load %arg1[{{[^]]*}}] {any_padding} : memref<64x172xf32> -> tensor<8x24xf32>
// CHECK: tile.dot {{.*}} -> tensor<4x24xf32>
// CHECK: scf.for %{{.*}} = %c56 to %c64 step %c8 iter_args(%{{.*}} = %[[WHOLE]])
// CHECK: tile.load %arg1[{{[^]]*}}] columns(%c172) {any_padding} : memref<64x172xf32> -> tensor<8x24xf32>
// CHECK: tile.dot {{.*}} -> tensor<4x24xf32>
