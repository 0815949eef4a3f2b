// Rotary positions: a lane has pairs of columns, and computes an angle's sine and cosine once. Prologue and epilogue
// are computed on the way.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-count-costs,heddle-tile,canonicalize,cse)' | FileCheck %s
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-count-costs,heddle-tile{target=cpu:x86-64-v3},canonicalize,cse)' | FileCheck %s --check-prefix=THREAD
heddle.size @tokens max 256
!rows = tensor<?x24xf32, #heddle.dims<"tokens">>
!numbers = tensor<?xi32, #heddle.dims<"tokens">>

// CHECK-LABEL: func.func @turn
// CHECK: tile.launch @rotary_addf_mulf_Tx24({{.*}}) grid [#tile.grid<"", 1, 1>, #tile.grid<"tokens", {{[0-9]+}}, 1>, #tile.grid<"", 1, 3>]
func.func @turn(%x: !rows, %y: !rows, %positions: !numbers, %frequencies: tensor<4xf32>) -> !rows {
  %sum = arith.addf %x, %y : !rows
  %turned = heddle.rotary %sum at %positions by %frequencies : !rows, !numbers, tensor<4xf32>
  %result = arith.mulf %turned, %y : !rows
  return %result : !rows
}

// If the columns of a pair are neighbours, a lane has both: one tile, and an exchange for the other column of each
// pair.
func.func @neighbours(%x: !rows, %y: !rows, %positions: !numbers, %frequencies: tensor<8xf32>) -> !rows {
  %turned = heddle.rotary %x at %positions by %frequencies {neighbours} : !rows, !numbers, tensor<8xf32>
  %result = arith.mulf %turned, %y : !rows
  return %result : !rows
}

// The angle's numbers of a row depend on its position.
// CHECK-LABEL: func.func @row
// CHECK: tile.launch @numbers_2
func.func @row() -> tensor<2xf32> {
  %0 = heddle.numbers [5.0, 7.0] : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: tile.func @rotary_addf_mulf_Tx24(
// CHECK: %[[HEAD:.*]] = gpu.block_id  z
// CHECK: %[[FIRST:.*]] = arith.muli %[[HEAD]], %c8 : index
// CHECK: %[[SINE:.*]] = math.sin %[[ANGLE:.*]] : tensor
// CHECK: %[[COSINE:.*]] = math.cos %[[ANGLE]]
// CHECK: arith.addi %[[FIRST]], %c4 : index
// CHECK-NOT: math.sin
// CHECK: %[[A:.*]] = arith.addf
// CHECK: %[[B:.*]] = arith.addf
// CHECK: %[[BS:.*]] = arith.mulf %[[B]], %[[SINE]]
// CHECK: %[[AS:.*]] = arith.mulf %[[A]], %[[SINE]]
// CHECK: %[[AC:.*]] = arith.mulf %[[A]], %[[COSINE]]
// CHECK: arith.subf %[[AC]], %[[BS]]
// CHECK: %[[BC:.*]] = arith.mulf %[[B]], %[[COSINE]]
// CHECK: arith.addf %[[BC]], %[[AS]]
// CHECK-COUNT-2: tile.store

// CHECK-LABEL: tile.func @rotary_mulf_Tx24(
// CHECK: %[[HEAD:.*]] = gpu.block_id  z
// CHECK: arith.muli %[[HEAD]], %c8 : index
// CHECK: %[[SINE:.*]] = math.sin %[[ANGLE:.*]] : tensor
// CHECK: %[[COSINE:.*]] = math.cos %[[ANGLE]]
// CHECK: %[[X:.*]] = tile.load %arg0
// CHECK: %[[SECOND:.*]] = arith.cmpi eq
// CHECK: %[[SIGN:.*]] = arith.select %[[SECOND]], %[[ONE:.*]], %
// CHECK: %[[OTHER:.*]] = tile.swap %[[X]]
// CHECK: %[[SIGNED:.*]] = arith.mulf %[[SINE]], %
// CHECK: %[[B:.*]] = arith.mulf %[[OTHER]], %[[SIGNED]]
// CHECK: %[[A:.*]] = arith.mulf %[[X]], %[[COSINE]]
// CHECK: arith.addf %[[A]], %[[B]]
// CHECK-COUNT-1: tile.store

// CHECK-LABEL: tile.func @numbers_2(
// CHECK: arith.cmpi eq
// CHECK: arith.select

// A thread turns all heads of a row by the same sines.
// THREAD: tile.launch @rotary_addf_mulf_Tx24({{.*}}) grid [#tile.grid<"", 1, 1>, #tile.grid<"tokens", 1, 1>, #tile.grid<"", 1, 1>]
// THREAD-LABEL: tile.func @rotary_addf_mulf_Tx24(
// THREAD: %[[SINE:.*]] = math.sin %{{.*}} : tensor<1x4xf32>
// THREAD: scf.for %{{.*}} = %c0 to %c3 step %c1 {
// THREAD-NOT: math.sin
// THREAD: arith.mulf %{{.*}}, %[[SINE]]
// THREAD-COUNT-2: tile.store
// THREAD: tile.return
