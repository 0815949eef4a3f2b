// The kernels that pool rows of segments, as one workgroup's program on vulkan:software: 8 lanes, vectors of 4.
// RUN: heddle-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile)' | FileCheck %s

!rows = tensor<?x120xf32, #heddle.dims<"rows">>
!segments = tensor<?xi32, #heddle.dims<"segments">>
!pooled = tensor<?x120xf32, #heddle.dims<"segments">>
!chosen = tensor<?x120xi32, #heddle.dims<"segments">>
heddle.size @rows max 640
heddle.size @segments max 64
heddle.size @longest max 33

// A workgroup has 32 columns of a segment. Prologue and epilogue are computed on the way.
// CHECK-LABEL: func.func @max(
// CHECK: tile.launch @[[KERNEL:.*]](%{{.*}}) grid [#tile.grid<"segments", 1, 1>, #tile.grid<"", 1, 4>, #tile.grid<"", 1, 1>] sizes []
// CHECK: tile.func @[[KERNEL]](%[[X:.*]]: memref<?x120xf32>, %[[S:.*]]: memref<?x1xi32>, %[[L:.*]]: memref<?x1xi32>, %[[C:.*]]: memref<?x120xi32>, %[[Y:.*]]: memref<?x120xf32>) attributes {mapping = #tile.mapping<columns>, vector = 4 : i64, workgroup = 8 : i64}
// CHECK: %[[SEGMENT:.*]] = gpu.block_id x
// CHECK: %[[COLUMN:.*]] = arith.muli %block_id_y, %c32
// CHECK: memref.load %[[S]][%[[SEGMENT]], %c0]
// CHECK: %[[START:.*]] = arith.index_castui
// CHECK: memref.load %[[L]][%[[SEGMENT]], %c0]
// CHECK: %[[LENGTH:.*]] = arith.index_castui
// CHECK: %[[END:.*]] = arith.addi %[[START]], %[[LENGTH]]
// CHECK: %[[EMPTY:.*]] = arith.cmpi eq, %[[LENGTH]], %c0
// CHECK: %[[NUMBER:.*]] = arith.select %[[EMPTY]], %cst, %cst_0 : f32
// CHECK: %[[WORST:.*]] = tile.splat %[[NUMBER]] : f32
// CHECK: %[[ROW:.*]] = arith.select %[[EMPTY]], %c-1, %[[START]] : index
// CHECK: %[[I32:.*]] = arith.index_cast %[[ROW]]
// CHECK: %[[FIRST:.*]] = tile.splat %[[I32]] : i32
// CHECK: %[[FOUND:.*]]:2 = scf.for %[[AT:.*]] = %[[START]] to %[[END]] step %c1 iter_args(%[[BEST:.*]] = %[[WORST]], %[[WHERE:.*]] = %[[FIRST]])
// CHECK:   %[[LOADED:.*]] = tile.load %[[X]][%[[AT]], %[[COLUMN]]] columns(%c120)
// CHECK:   %[[ELEMENT:.*]] = math.exp %[[LOADED]]
// CHECK:   %[[LARGER:.*]] = arith.cmpf ugt, %[[ELEMENT]], %[[BEST]]
// CHECK:   %[[ISNUMBER:.*]] = arith.cmpf oeq, %[[BEST]], %[[BEST]]
// CHECK:   %[[BETTER:.*]] = arith.andi %[[LARGER]], %[[ISNUMBER]]
// CHECK:   arith.select %[[BETTER]], %[[ELEMENT]], %[[BEST]]
// CHECK:   arith.select %[[BETTER]], %{{.*}}, %[[WHERE]]
// CHECK: %[[NEGATIVE:.*]] = arith.negf %[[FOUND]]#0
// CHECK: tile.store %[[FOUND]]#1, %[[C]][%[[SEGMENT]], %[[COLUMN]]] columns(%c120)
// CHECK: tile.store %[[NEGATIVE]], %[[Y]][%[[SEGMENT]], %[[COLUMN]]] columns(%c120)
func.func @max(%x: !rows, %s: !segments, %l: !segments) -> (!pooled, !chosen) {
  %e = math.exp %x : !rows
  %y, %c = heddle.segment max %e segments(%s, %l) {row_size = "longest"} : !rows, !segments -> !pooled, !chosen
  %n = arith.negf %y : !pooled
  return %n, %c : !pooled, !chosen
}

// -----

!rows = tensor<?x5xf32, #heddle.dims<"rows">>
!segments = tensor<?xi32, #heddle.dims<"segments">>
!pooled = tensor<?x5xf32, #heddle.dims<"segments">>
!chosen = tensor<?x5xi32, #heddle.dims<"segments">>
heddle.size @rows max 640
heddle.size @segments max 64

// With few columns. A minimum starts at infinity, a sum at zero.
// CHECK-LABEL: func.func @few(
// CHECK: tile.func @segment_Tx5(
// CHECK-SAME: vector = 1 : i64
// CHECK: arith.constant 0x7F800000 : f32
// CHECK: scf.for
// CHECK:   arith.cmpf ult
// CHECK: tile.func @segment_Tx5{{.+}}(
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<1x8xf32>
// CHECK: %[[SUM:.*]] = scf.for {{.*}} iter_args(%[[BEFORE:.*]] = %[[ZERO]]) -> (tensor<1x8xf32>)
// CHECK:   %[[ELEMENT:.*]] = tile.load %{{.*}} columns(%c5)
// CHECK:   arith.addf %[[BEFORE]], %[[ELEMENT]]
// CHECK: tile.store %[[SUM]]
func.func @few(%x: !rows, %s: !segments, %l: !segments) -> (!pooled, !chosen, !pooled) {
  %y, %c = heddle.segment min %x segments(%s, %l) {row_size = ""} : !rows, !segments -> !pooled, !chosen
  %z = heddle.segment sum %x segments(%s, %l) {row_size = ""} : !rows, !segments -> !pooled
  return %y, %c, %z : !pooled, !chosen, !pooled
}
