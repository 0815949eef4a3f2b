// The kernels that choose a token, as one workgroup's program on vulkan:software: 8 lanes, vectors of 4.
// RUN: heddle-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile)' | FileCheck %s

!logits = tensor<?x120xf32, #heddle.dims<"rows">>
!numbers = tensor<?xf32, #heddle.dims<"rows">>
!indices = tensor<?xi32, #heddle.dims<"rows">>
heddle.size @rows max 64

// A workgroup draws for one row. It walks over the row for the maximum; once for each two bits of the bound of top-k,
// if any; for the sum of the remaining elements; once for each two bits of the bound of top-p, if any; and to draw, if
// it draws.
// CHECK-LABEL: func.func @draw(
// CHECK: tile.launch @draw_T({{.*}}) grid [#tile.grid<"rows", 1, 1>, #tile.grid<"", 1, 1>, #tile.grid<"", 1, 1>] sizes [] reuse [-1]
// CHECK-LABEL: tile.func @draw_T(
// CHECK-SAME: %[[X:.*]]: memref<?x120xf32>, %[[T:.*]]: memref<?x1xf32>, %[[K:.*]]: memref<?x1xi32>, %[[P:.*]]: memref<?x1xf32>, %[[LOW:.*]]: memref<?x1xi32>, %[[HIGH:.*]]: memref<?x1xi32>, %[[TOKEN:.*]]: memref<?x1xi32>) attributes {mapping = #tile.mapping<columns>, vector = 4 : i64, workgroup = 8 : i64}
// CHECK: %[[ROW:.*]] = gpu.block_id
// CHECK: memref.load %[[K]][%[[ROW]], %c0]
// CHECK: %[[ISFEW:.*]] = arith.andi
// CHECK: memref.load %[[P]][%[[ROW]], %c0]
// CHECK: %[[ISPART:.*]] = arith.cmpf olt
// CHECK: memref.load %[[T]][%[[ROW]], %c0]
// CHECK: %[[ISWARM:.*]] = arith.cmpf ogt
// CHECK: scf.for %{{.*}} = %c0 to %c120 step %c64 {{.*}} -> (tensor<1x32xi32>, tensor<1x32xi32>, tensor<1x32xi32>)
// CHECK: %[[LARGEST:.*]] = tile.reduce max
// CHECK: tile.reduce min
// CHECK: %[[END:.*]] = arith.select %[[ISFEW]], %c16, %c0
// CHECK: scf.for %{{.*}} = %c0 to %[[END]] step %c1 iter_args(%[[KEY:.*]] = %{{.*}}, %[[STEP:.*]] = %{{.*}}) -> (tensor<1x1xi32>, tensor<1x1xi32>)
// CHECK:   %[[FIRST:.*]] = arith.addi %[[KEY]], %[[STEP]]
// CHECK:   %[[SECOND:.*]] = arith.addi %[[FIRST]], %[[STEP]]
// CHECK:   %[[THIRD:.*]] = arith.addi %[[SECOND]], %[[STEP]]
// CHECK:   scf.for %[[AT:.*]] = %c0 to %c120 step %c64 {{.*}} -> (tensor<1x32xf32>, tensor<1x32xf32>, tensor<1x32xf32>)
// CHECK:     tile.load %[[X]][%[[ROW]], %[[AT]]] columns(%c120{{.*}})
// CHECK:   arith.select %{{.*}}, %[[FIRST]], %[[KEY]]
// CHECK:   arith.shrui %[[STEP]]
// CHECK: %[[SUMEND:.*]] = arith.select %[[ISPART]], %c120, %c0
// CHECK: scf.for %{{.*}} = %c0 to %[[SUMEND]] step %c64 {{.*}} -> (tensor<1x32xf32>)
// CHECK:   math.exp
// CHECK: %[[PEND:.*]] = arith.select %[[ISPART]], %c16, %c0
// CHECK: scf.for %{{.*}} = %c0 to %[[PEND]] step %c1
// CHECK: arith.minsi %{{.*}}, %[[LARGEST]]
// CHECK: %[[SEEDLOW:.*]] = memref.load %[[LOW]][%[[ROW]], %c0]
// CHECK: %[[SEEDHIGH:.*]] = memref.load %[[HIGH]][%[[ROW]], %c0]
// CHECK: %[[DRAWEND:.*]] = arith.select %[[ISWARM]], %c120, %c0
// CHECK: scf.for %{{.*}} = %c0 to %[[DRAWEND]] step %c64
// CHECK:   tile.random seed(%[[SEEDLOW]], %[[SEEDHIGH]]) step %c0_i32 stream %c0_i32
// CHECK: tile.store %{{.*}}, %[[TOKEN]][%[[ROW]], %c0]
func.func @draw(%x: !logits, %t: !numbers, %k: !indices, %p: !numbers, %low: !indices, %high: !indices) -> !indices {
  %token, %cutoff = heddle.draw %x, %t, %k, %p key(%low, %high) : !logits, !numbers, !indices
  return %token : !indices
}

// -----

!logits = tensor<?x120xf32, #heddle.dims<"rows">>
!places = tensor<?xi32, #heddle.dims<"seen">>
!penalties = tensor<?xf32, #heddle.dims<"seen">>
heddle.size @rows max 64
heddle.size @seen max 100000

// The result is written in place, by the first lane only. There are more penalties than a launch may have workgroups,
// so each workgroup takes two.
// CHECK-LABEL: func.func @penalise(
// CHECK: %[[E:.*]] = tile.launch @exp_Tx120(
// CHECK: tile.launch @penalise_Tx120(%[[E]], {{.*}}) grid [#tile.grid<"seen", 2, 1>, #tile.grid<"", 1, 1>, #tile.grid<"", 1, 1>] sizes ["seen"] reuse [0] {inplace}
// CHECK-LABEL: tile.func @penalise_Tx120(
// CHECK-SAME: %[[OLD:.*]]: memref<?x120xf32>, %[[ROWS:.*]]: memref<?x1xi32>, %[[COLUMNS:.*]]: memref<?x1xi32>, %[[PENALTIES:.*]]: memref<?x1xf32>, %[[NEW:.*]]: memref<?x120xf32>, %[[COUNT:.*]]: index)
// CHECK: arith.minui %{{.*}}, %[[COUNT]]
// CHECK: scf.for
// CHECK:   %[[COLUMN:.*]] = arith.index_castui
// CHECK:   %[[ROW:.*]] = arith.index_castui
// CHECK:   %[[LIMIT:.*]] = arith.addi %[[COLUMN]], %c1
// CHECK:   %[[LOGIT:.*]] = tile.load %[[NEW]][%[[ROW]], %[[COLUMN]]] columns(%[[LIMIT]])
// CHECK:   %[[LESS:.*]] = arith.select
// CHECK:   tile.store %[[LESS]], %[[NEW]][%[[ROW]], %[[COLUMN]]] columns(%[[LIMIT]])
func.func @penalise(%x: !logits, %r: !places, %c: !places, %p: !penalties) -> !logits {
  %e = math.exp %x : !logits
  %y = heddle.penalise %e at(%r, %c) by %p : !logits, !places, !penalties
  return %y : !logits
}
