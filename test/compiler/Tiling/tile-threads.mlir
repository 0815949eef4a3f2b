// Register tiles of a thread: the sums, a row of the right side and an element of the left side fill the processor's
// registers, 16 of 8 floats with AVX2 and 32 of 16 floats with AVX-512.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=cpu:x86-64-v3})' | FileCheck %s -DR=6 -DC=16 -DSTRIPS=32 -DRT=14 -DCT=8
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=cpu:x86-64-v4})' | FileCheck %s -DR=14 -DC=32 -DSTRIPS=16 -DRT=28 -DCT=16

heddle.size @tokens max 2016
!x = tensor<?x512xf32, #heddle.dims<"tokens">>
!narrow = tensor<?x336xf32, #heddle.dims<"tokens">>

// CHECK-LABEL: func.func @matmul(
// CHECK: grid [#tile.grid<"tokens", [[R]], 1>, #tile.grid<"", 1, [[STRIPS]]>, #tile.grid<"", 1, 1>]
func.func @matmul(%x: !x, %w: tensor<512x512xf32>) -> !x {
  %p = heddle.matmul %x, %w : !x, tensor<512x512xf32> -> !x
  return %p : !x
}

// A workgroup transposes a panel of the right side into scratch memory, one vector wide, and multiplies several register
// tiles by it.
func.func @transposed(%x: !x, %w: tensor<512x512xf32>) -> !x {
  %p = heddle.matmul %x, %w {transpose_rhs} : !x, tensor<512x512xf32> -> !x
  return %p : !x
}

func.func @gradient(%x: !narrow, %y: !x) -> tensor<336x512xf32> {
  %p = heddle.matmul %x, %y {transpose_lhs} : !narrow, !x -> tensor<336x512xf32>
  return %p : tensor<336x512xf32>
}

// The depth is a multiple of a step: one loop.
// CHECK: tile.func @matmul_Tx512(
// CHECK: %[[SUM:.*]] = scf.for %{{.*}} = %c0 to %c512 step %c8 {{.*}} -> (tensor<[[R]]x[[C]]xf32>)
// CHECK: tile.load %arg0{{.*}} -> tensor<[[R]]x8xf32>
// CHECK: tile.load %arg1{{.*}} -> tensor<8x[[C]]xf32>
// CHECK: tile.dot {{.*}} -> tensor<[[R]]x[[C]]xf32>
// CHECK-NOT: scf.for
// CHECK: tile.store %[[SUM]]

// CHECK: tile.func @matmul_Tx512_2(
// CHECK-SAME: mapping = #tile.mapping<rows>
// CHECK: %[[PANEL:.*]] = tile.shared : memref<512x[[CT]]xf32, strided<{{\[}}[[CT]], 1]>, #gpu.address_space<workgroup>>
// CHECK: tile.load %arg1{{.*}}transposed}
// CHECK: tile.store %{{.*}}, %[[PANEL]]
// CHECK: scf.for %{{.*}} step %c[[RT]] {
// CHECK: scf.for {{.*}} -> (tensor<[[RT]]x[[CT]]xf32>)
// CHECK: tile.load %[[PANEL]]
// CHECK: tile.dot {{.*}} -> tensor<[[RT]]x[[CT]]xf32>

// A depth known at run time: a loop over whole steps, then a loop over the places that are left. Neither checks limits.
// CHECK: tile.func @matmul_336x512(
// CHECK-SAME: %[[N:[^ ]*]]: index)
// CHECK: %[[REST:.*]] = arith.remui %[[N]], %c8
// CHECK: %[[WHOLE:.*]] = arith.subi %[[N]], %[[REST]]
// CHECK: %[[SUM:.*]] = scf.for %{{.*}} = %c0 to %[[WHOLE]] step %c8 iter_args(%{{.*}} = %cst) -> (tensor<[[R]]x[[C]]xf32>)
// CHECK-NOT: rows(
// CHECK: tile.load %arg0{{.*}} -> tensor<8x[[R]]xf32>
// CHECK-NOT: rows(
// CHECK: tile.load %arg1{{.*}} -> tensor<8x[[C]]xf32>
// CHECK: %[[ALL:.*]] = scf.for %{{.*}} = %[[WHOLE]] to %[[N]] step %c1 iter_args(%{{.*}} = %[[SUM]]) -> (tensor<[[R]]x[[C]]xf32>)
// CHECK-NOT: rows(
// CHECK: tile.load %arg0{{.*}} -> tensor<1x[[R]]xf32>
// CHECK-NOT: rows(
// CHECK: tile.load %arg1{{.*}} -> tensor<1x[[C]]xf32>
// CHECK: tile.dot {{.*}} {transpose_lhs}
// CHECK: tile.store %[[ALL]]
