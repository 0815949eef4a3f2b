// More rows than a launch may have workgroups along an axis: a workgroup takes several. CUDA's workgroups have four
// subgroups.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=cuda:sm_80})' | FileCheck %s --check-prefixes=CHECK,CUDA
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=vulkan:nvidia})' | FileCheck %s --check-prefixes=CHECK,VULKAN

!x = tensor<?x256xf32, #heddle.dims<"tokens">>
!column = tensor<?xf32, #heddle.dims<"tokens">>
heddle.size @tokens max 300000

// CHECK-LABEL: func.func @elementwise(
// VULKAN: tile.launch @exp_Tx256({{.*}}) grid [#tile.grid<"", 1, 2>, #tile.grid<"tokens", 5, 1>, #tile.grid<"", 1, 1>]
// CUDA: tile.launch @exp_Tx256({{.*}}) grid [#tile.grid<"", 1, 2>, #tile.grid<"tokens", 16, 1>, #tile.grid<"", 1, 1>]
func.func @elementwise(%x: !x) -> !x {
  %y = math.exp %x : !x
  return %y : !x
}

// On both targets the lanes share each row.
// CHECK-LABEL: func.func @rows(
// VULKAN: tile.launch @sum_T({{.*}}) grid [#tile.grid<"tokens", 5, 1>, #tile.grid<"", 1, 1>, #tile.grid<"", 1, 1>]
// CUDA: tile.launch @sum_T({{.*}}) grid [#tile.grid<"tokens", 8, 1>, #tile.grid<"", 1, 1>, #tile.grid<"", 1, 1>]
// CHECK-LABEL: tile.func @sum_T(
// CHECK-SAME: mapping = #tile.mapping<columns>
// VULKAN: tile.load %{{.*}} rows(%{{.*}}) : memref<?x256xf32> -> tensor<5x256xf32>
// CUDA: tile.load %{{.*}} rows(%{{.*}}) : memref<?x256xf32> -> tensor<8x256xf32>
func.func @rows(%x: !x) -> !column {
  %y = heddle.sum columns %x : !x -> !column
  return %y : !column
}
