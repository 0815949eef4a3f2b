// A thread's matmuls. The sums, a row of the right side and an element of the left side fill the processor's registers:
// 16 of 8 floats with AVX2, 32 of 16 floats with AVX-512. Operands are packed for 256 places of the K dimension at a
// time.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=cpu:x86-64-v3})' | FileCheck %s -DR=6 -DC=16 -DROWS=96 -DWIDTH=144 -DS=8
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=cpu:x86-64-v4})' | FileCheck %s -DR=14 -DC=32 -DROWS=112 -DWIDTH=144 -DS=16

heddle.size @tokens max 2016
!x = tensor<?x512xf32, #heddle.dims<"tokens">>
!narrow = tensor<?x336xf32, #heddle.dims<"tokens">>
!ragged = tensor<?x172xf32, #heddle.dims<"tokens">>

// CHECK-LABEL: func.func @matmul(
// CHECK: tile.launch @matmul_Tx512({{.*}}#tile.grid<"tokens", [[ROWS]], 1>
func.func @matmul(%x: !x, %w: tensor<512x512xf32>) -> !x {
  %p = heddle.matmul %x, %w : !x, tensor<512x512xf32> -> !x
  return %p : !x
}

func.func @transposed(%x: !x, %w: tensor<512x512xf32>) -> !x {
  %p = heddle.matmul %x, %w {transpose_rhs} : !x, tensor<512x512xf32> -> !x
  return %p : !x
}

func.func @gradient(%x: !narrow, %y: !x) -> tensor<336x512xf32> {
  %p = heddle.matmul %x, %y {transpose_lhs} : !narrow, !x -> tensor<336x512xf32>
  return %p : tensor<336x512xf32>
}

func.func @ragged(%x: !ragged, %w: tensor<172x512xf32>) -> !x {
  %p = heddle.matmul %x, %w : !ragged, tensor<172x512xf32> -> !x
  return %p : !x
}

// No vector divides the width: the registers are whole, and the last ones end at the limit.
func.func @tail(%x: !x, %w: tensor<512x172xf32>) -> !ragged {
  %p = heddle.matmul %x, %w : !x, tensor<512x172xf32> -> !ragged
  return %p : !ragged
}

// Few rows are not worth packing, and few columns are not worth streaming (tile-streamed.mlir).
func.func @few(%x: tensor<8x512xf32>, %w: tensor<512x48xf32>) -> tensor<8x48xf32> {
  %p = heddle.matmul %x, %w : tensor<8x512xf32>, tensor<512x48xf32> -> tensor<8x48xf32>
  return %p : tensor<8x48xf32>
}

// The sums of all register tiles are in scratch memory. The left side is read in place.
// CHECK: tile.func @matmul_Tx512(
// CHECK-DAG: %[[RHS:.*]] = tile.shared : memref<256x[[WIDTH]]xf32
// CHECK-DAG: %[[SUMS:.*]] = tile.shared : memref<[[ROWS]]x[[WIDTH]]xf32
// CHECK: tile.store %cst, %[[SUMS]]
// CHECK: scf.for %[[FIRST:.*]] = %c0 to %c512 step %c256 {
// CHECK: scf.for %[[K:.*]] = %c0 to %c256 step %c[[S]] {
// CHECK: scf.for %{{.*}} step %c[[C]] {
// CHECK: %[[PART:.*]] = tile.load %arg1{{.*}} -> tensor<[[S]]x[[C]]xf32>
// CHECK: tile.store %[[PART]], %[[RHS]][%[[K]], %{{.*}}]
// CHECK: scf.for %{{.*}} step %c[[C]] {
// CHECK: scf.for %{{.*}} step %c[[R]] {
// CHECK: %[[BEFORE:.*]] = tile.load %[[SUMS]]{{.*}} -> tensor<[[R]]x[[C]]xf32>
// CHECK: %[[AFTER:.*]] = scf.for %{{.*}} = %c0 to %c256 step %c8 iter_args(%{{.*}} = %[[BEFORE]])
// CHECK: %[[RIGHT:.*]] = tile.load %[[RHS]]{{.*}} -> tensor<8x[[C]]xf32>
// CHECK: %[[LEFT:.*]] = tile.load %arg0{{.*}} -> tensor<[[R]]x8xf32>
// CHECK: tile.dot %[[LEFT]], %[[RIGHT]]
// CHECK: tile.store %[[AFTER]], %[[SUMS]]
// The result is written row by row.
// CHECK: scf.for %[[ROW:.*]] = %{{.*}} step %c1 {
// CHECK: scf.for %[[COLUMN:.*]] = %{{.*}} step %c[[C]] {
// CHECK: %[[SUM:.*]] = tile.load %[[SUMS]]{{.*}} -> tensor<1x[[C]]xf32>
// CHECK: tile.store %[[SUM]], %arg2[%[[ROW]], %[[COLUMN]]]

// A transposed right side is transposed as it is packed, column by column.
// CHECK: tile.func @matmul_Tx512_2(
// CHECK-SAME: mapping = #tile.mapping<columns>
// CHECK: scf.for %{{.*}} = %c0 to %c512 step %c256 {
// CHECK: scf.for %{{.*}} step %c[[C]] {
// CHECK: scf.for %{{.*}} step %c[[S]] {
// CHECK: %[[PART:.*]] = tile.load %arg1{{.*}}transposed} : {{.*}} -> tensor<[[S]]x[[C]]xf32>
// CHECK: tile.store %[[PART]], %{{.*}}

// A transposed left side is packed too. A K extent known at run time is padded with zeros, so no multiplication checks
// limits.
// CHECK: tile.func @matmul_336x512(
// CHECK-SAME: %[[N:[^ ]*]]: index)
// CHECK: %[[LHS:.*]] = tile.shared : memref<256x{{.*}}xf32
// CHECK: scf.for %{{.*}} = %c0 to %[[N]] step %c256 {
// CHECK: tile.load %arg1{{.*}} rows(%[[N]]) : {{.*}} -> tensor<[[S]]x[[C]]xf32>
// CHECK: %[[PART:.*]] = tile.load %arg0{{.*}} rows(%[[N]]) {{.*}} -> tensor<[[S]]x[[C]]xf32>
// CHECK: tile.store %[[PART]], %[[LHS]]
// CHECK: tile.load %[[LHS]]{{.*}} -> tensor<8x[[R]]xf32>
// CHECK: tile.dot {{.*}} {transpose_lhs}

// No step divides the K extent: the left side is packed and padded with zeros. If the whole K extent is packed at once,
// sums stay in registers.
// CHECK: tile.func @matmul_Tx512_3(
// CHECK: %[[LHS:.*]] = tile.shared : memref<[[ROWS]]x272xf32
// CHECK: %[[RHS:.*]] = tile.shared : memref<256x[[WIDTH]]xf32
// CHECK-NOT: tile.shared
// CHECK: tile.load %arg1{{.*}} rows(%c172)
// CHECK: tile.store %{{.*}}, %[[RHS]]
// CHECK: %[[PART:.*]] = tile.load %arg0{{.*}} rows(%arg3) columns(%c172) : {{.*}} -> tensor<[[R]]x[[S]]xf32>
// CHECK: tile.store %[[PART]], %[[LHS]]
// CHECK: %[[SUM:.*]] = scf.for %{{.*}} = %c0 to %c172 step %c8 iter_args(%{{.*}} = %cst)
// CHECK: tile.load %[[LHS]]{{.*}} -> tensor<[[R]]x8xf32>
// CHECK: tile.store %[[SUM]], %arg2

// CHECK: tile.func @matmul_Tx172(
// CHECK-SAME: vector = [[S]]
// CHECK: tile.load %arg1{{.*}} columns(%c172) {{.*}} -> tensor<[[S]]x[[W:16|32]]xf32>
// CHECK: tile.store %{{.*}}, %arg2{{.*}} columns(%c172) : tensor<1x{{.*}}xf32>

// CHECK: tile.func @matmul_8x48(
// CHECK-NOT: tile.shared
// CHECK: %[[SUM:.*]] = scf.for %{{.*}} = %c0 to %c512 step %c8 iter_args
// CHECK: tile.store %[[SUM]], %arg2
