// Gumbel noise for rows whose numbers are operands, as one workgroup's program on vulkan:software.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile)' | FileCheck %s

!rows = tensor<?x16xf32, #heddle.dims<"rows">>
!numbers = tensor<?xi32, #heddle.dims<"rows">>
heddle.size @rows max 64

// CHECK-LABEL: tile.func @gumbel_addf_Tx16
// CHECK-SAME: %[[NUMBERS:[a-z0-9]+]]: memref<?x1xi32>
// CHECK: %[[ROW:.*]] = tile.load %[[NUMBERS]]
// CHECK: %[[ROWS:.*]] = tile.broadcast %[[ROW]]
// CHECK: %[[UNIFORM:.*]] = tile.random seed(%{{.*}}) step %{{.*}} stream %{{.*}} at(%[[ROWS]], %{{.*}})
// CHECK: %[[LEAST:.*]] = arith.maximumf %[[UNIFORM]]
// CHECK: %[[LOG:.*]] = math.log %[[LEAST]]
// CHECK: %[[POSITIVE:.*]] = arith.negf %[[LOG]]
// CHECK: %[[AGAIN:.*]] = math.log %[[POSITIVE]]
// CHECK: arith.negf %[[AGAIN]]
// CHECK: arith.addf
func.func @noise(%x: !rows, %numbers: !numbers, %seed: tensor<2xi32>, %step: tensor<1xi32>) -> !rows {
  %noise = heddle.gumbel %numbers seed %seed step %step {stream = 3 : i32} : !numbers to !rows
  %sum = arith.addf %x, %noise : !rows
  return %sum : !rows
}
