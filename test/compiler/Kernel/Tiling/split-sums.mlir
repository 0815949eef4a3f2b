// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-split-kernels{target=cuda:sm_80})' | FileCheck %s
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-split-kernels{target=vulkan:software})' | FileCheck %s --check-prefix=SOFTWARE
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-split-kernels{target=cuda:sm_80},heddle-tile{target=cuda:sm_80})' | FileCheck %s --check-prefix=TILE
// RUN: not heddle-opt %s --pass-pipeline='builtin.module(heddle-split-kernels{target=cuda:sm_08})' 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: there is no target 'cuda:sm_08'; did you mean 'cuda:sm_80'?

// The columns of a sum are enough work for a device of two processors.
// SOFTWARE-NOT: partial_sums

!x = tensor<?x512xf32, #heddle.dims<"tokens">>
!column = tensor<?xf32, #heddle.dims<"tokens">>
!few = tensor<?x512xf32, #heddle.dims<"few">>
heddle.size @tokens max 16384
heddle.size @few max 60

// The first kernel computes the sum's operand. There are as many groups as each group has rows.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: %[[X:.*]]: tensor<?x512xf32
// CHECK: %[[P:.*]] = heddle.kernel "partial_sum_mulf"(%[[X]] : {{.*}}) -> tensor<128x512xf32>
// CHECK: %[[SQUARE:.*]] = arith.mulf
// CHECK: %[[SUMS:.*]] = heddle.partial_sums %[[SQUARE]] : tensor<?x512xf32, #heddle.dims<"tokens">> -> tensor<128x512xf32>
// CHECK: heddle.yield %[[SUMS]]
// CHECK: %[[S:.*]] = heddle.kernel "sum"(%[[P]] : tensor<128x512xf32>) -> tensor<512xf32>
// CHECK: %[[SUM:.*]] = heddle.sum rows %{{.*}} : tensor<128x512xf32> -> tensor<512xf32>
// CHECK: heddle.yield %[[SUM]]
// CHECK: return %[[S]]
func.func @rows(%x: !x) -> tensor<512xf32> {
  %y = arith.mulf %x, %x : !x
  %s = heddle.sum rows %y : !x -> tensor<512xf32>
  return %s : tensor<512xf32>
}

// Sums that share a kernel share both kernels.
// CHECK-LABEL: func.func @two
// CHECK: %[[P:.*]]:2 = heddle.kernel "partial_sum{{.*}}"({{.*}}) -> tensor<128x512xf32>, tensor<128x512xf32>
// CHECK: %[[S:.*]]:2 = heddle.kernel "sum"(%[[P]]#0, %[[P]]#1 : {{.*}}) -> tensor<512xf32>, tensor<512xf32>
// CHECK: return %[[S]]#0, %[[S]]#1
func.func @two(%x: !x) -> (tensor<512xf32>, tensor<512xf32>) {
  %y = arith.mulf %x, %x : !x
  %s = heddle.sum rows %x : !x -> tensor<512xf32>
  %t = heddle.sum rows %y : !x -> tensor<512xf32>
  return %s, %t : tensor<512xf32>, tensor<512xf32>
}

// CHECK-LABEL: func.func @column
// CHECK: heddle.partial_sums %{{.*}} : tensor<?xf32, #heddle.dims<"tokens">> -> tensor<128x1xf32>
// CHECK: heddle.sum rows %{{.*}} : tensor<128x1xf32> -> tensor<1xf32>
func.func @column(%x: !column) -> tensor<1xf32> {
  %s = heddle.sum rows %x : !column -> tensor<1xf32>
  return %s : tensor<1xf32>
}

// Not split: few rows, sums along the rows, and sums that a matmul's kernel computes on the way.
// CHECK-LABEL: func.func @left_alone
// CHECK-NOT: partial_sums
func.func @left_alone(%x: !few, %y: !x, %z: tensor<?x8xf32, #heddle.dims<"tokens">>) -> (tensor<512xf32>, !column, tensor<8x512xf32>, tensor<512xf32>) {
  %s = heddle.sum rows %x : !few -> tensor<512xf32>
  %t = heddle.sum columns %y : !x -> !column
  %b = heddle.sum rows %y : !x -> tensor<512xf32>
  %p = heddle.matmul %z, %y {transpose_lhs} : tensor<?x8xf32, #heddle.dims<"tokens">>, !x -> tensor<8x512xf32>
  return %s, %t, %p, %b : tensor<512xf32>, !column, tensor<8x512xf32>, tensor<512xf32>
}

// A group takes every 128th block of 8 rows.
// TILE: tile.launch @partial_sum_mulf_128x512({{.*}}) grid [#tile.grid<"", 1, 4>, #tile.grid<"", 1, 128>, #tile.grid<"", 1, 1>]
// TILE-LABEL: tile.func @partial_sum_mulf_128x512(
// TILE-SAME: %{{.*}}: memref<?x512xf32>, %[[TO:.*]]: memref<128x512xf32>, %[[N:.*]]: index)
// TILE: %[[GROUP:.*]] = gpu.block_id  y
// TILE: %[[FIRST:.*]] = arith.muli %[[GROUP]], %c8
// TILE: %[[SUM:.*]] = scf.for %[[ROW:.*]] = %[[FIRST]] to %[[N]] step %c1024
// TILE: tile.load %{{.*}}[%[[ROW]], %{{.*}}] rows(%[[N]])
// TILE: tile.store %[[SUM]], %[[TO]][%[[GROUP]], %{{.*}}]
