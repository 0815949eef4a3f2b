// 65,536 workgroups are more than the target starts along an axis, so there are half as many along it, and two along the
// last axis.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=vulkan:portable})' | FileCheck %s

heddle.size @tokens max 64
!x = tensor<?x64xf32, #heddle.dims<"tokens">>
!y = tensor<?x262144xf32, #heddle.dims<"tokens">>

// CHECK: tile.launch @matmul_Tx262144({{.*}} grid [#tile.grid<"", 1, 32768>, #tile.grid<"tokens", 64, 1>, #tile.grid<"", 1, 2>]
func.func @many(%x: !x, %w: tensor<65536x64xi32>, %s: tensor<262144x1xf32>) -> !y {
  %d = heddle.dequantize %w scales(%s) {bits = 8 : i64} : (tensor<65536x64xi32>, tensor<262144x1xf32>) -> tensor<262144x64xf32>
  %p = heddle.matmul %x, %d {transpose_rhs} : !x, tensor<262144x64xf32> -> !y
  return %p : !y
}

// CHECK: tile.func @matmul_Tx262144
// CHECK: %[[PART:.*]] = gpu.block_id z
// CHECK: %[[OWN:.*]] = gpu.block_id x
// CHECK: %[[FIRST:.*]] = arith.muli %[[PART]], %c32768
// CHECK: %[[NUMBER:.*]] = arith.addi %[[FIRST]], %[[OWN]]
// CHECK: arith.muli %[[NUMBER]], %c4
