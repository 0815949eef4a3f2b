// The same graph on three targets: their profiles decide the tiles. A GPU that runs many workgroups at once gets many.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=vulkan:software})' | FileCheck %s --check-prefixes=CHECK,SOFTWARE
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=vulkan:portable})' | FileCheck %s --check-prefixes=CHECK,PORTABLE
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=vulkan:nvidia})' | FileCheck %s --check-prefixes=CHECK,NVIDIA
// RUN: not heddle-opt %s --pass-pipeline='builtin.module(heddle-tile{target=vulkan:softwar})' 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: there is no target 'vulkan:softwar'; did you mean 'vulkan:software'?

!x = tensor<?x64xf32, #heddle.dims<"tokens">>
!column = tensor<?xf32, #heddle.dims<"many">>
!rows = tensor<?x64xf32, #heddle.dims<"many">>
heddle.size @tokens max 2048
heddle.size @many max 600000

// CHECK-LABEL: func.func @matmul(
// SOFTWARE: #tile.grid<"tokens", 24, 1>, #tile.grid<"", 1, 1>
// PORTABLE: #tile.grid<"tokens", 64, 2>, #tile.grid<"", 1, 1>
// NVIDIA: #tile.grid<"tokens", 64, 2>, #tile.grid<"", 1, 1>
func.func @matmul(%x: !x, %w: tensor<64x64xf32>) -> !x {
  %p = heddle.matmul %x, %w : !x, tensor<64x64xf32> -> !x
  return %p : !x
}
func.func @sum_rows(%x: !rows) -> tensor<64xf32> {
  %s = heddle.sum rows %x : !rows -> tensor<64xf32>
  return %s : tensor<64xf32>
}
func.func @gradient(%x: !rows) -> tensor<64x64xf32> {
  %p = heddle.matmul %x, %x {transpose_lhs} : !rows, !rows -> tensor<64x64xf32>
  return %p : tensor<64x64xf32>
}

// CHECK-LABEL: tile.func @matmul_Tx64(
// SOFTWARE-SAME: workgroup = 8
// PORTABLE-SAME: mapping = #tile.mapping<blocks>, vector = 4 : i64, workgroup = 128
// NVIDIA-SAME: mapping = #tile.mapping<blocks>, vector = 4 : i64, workgroup = 128

// 600000 rows in steps of 8 are 75000 iterations. A device that silently ends loops after 65535 gets steps of 16.
// vulkan:portable may run on such a device.
// CHECK-LABEL: tile.func @sum_64(
// SOFTWARE: scf.for {{.*}} step %c16
// PORTABLE: scf.for {{.*}} step %c16
// NVIDIA: scf.for {{.*}} step %c8

// 150000 iterations in steps of 4: 12 is the smallest sufficient multiple of 4.
// CHECK-LABEL: tile.func @matmul_64x64(
// SOFTWARE: scf.for {{.*}} step %c12
// GPUs copy sixteen rows at a time to shared memory.
// PORTABLE: scf.for {{.*}} step %c16
// NVIDIA: scf.for {{.*}} step %c16
