// A thread takes whole vectors of rows whose width no vector divides, and masks the last one.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=cpu:x86-64-v4})' | FileCheck %s
// NEON has no masks.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=cpu:aarch64})' | FileCheck %s --check-prefix=NEON

!x = tensor<?x581xf32, #heddle.dims<"tokens">>
!column = tensor<?xf32, #heddle.dims<"tokens">>
heddle.size @tokens max 64

// CHECK: tile.func @exp_Tx581(
// CHECK-SAME: vector = 16
// CHECK: tile.load %arg0[{{.*}}] columns(%c581)
// NEON: tile.func @exp_Tx581(
// NEON-SAME: vector = 1 :
func.func @elementwise(%x: !x) -> !x {
  %y = math.exp %x : !x
  return %y : !x
}

// CHECK: tile.func @sum_T(
// CHECK-SAME: vector = 16
// CHECK: scf.for %{{.*}} = %c0 to %c576 step %c64
// CHECK: tile.load %arg0[%{{.*}}, %c576] rows(%{{.*}}) columns(%c581) : memref<?x581xf32> -> tensor<1x16xf32>
// NEON: tile.func @sum_T(
// NEON-SAME: vector = 1 :
func.func @rows(%x: !x) -> !column {
  %y = heddle.sum columns %x : !x -> !column
  return %y : !column
}

// CHECK: tile.func @top_k_Tx2(
// CHECK-SAME: vector = 16
func.func @largest(%x: !x, %s: tensor<?xi32, #heddle.dims<"tokens">>) -> tensor<?x2xf32, #heddle.dims<"tokens">> {
  %v, %r, %c = heddle.top_k %x segments(%s, %s) {row_size = ""} : !x, tensor<?xi32, #heddle.dims<"tokens">> -> tensor<?x2xf32, #heddle.dims<"tokens">>, tensor<?x2xi32, #heddle.dims<"tokens">>
  return %v : tensor<?x2xf32, #heddle.dims<"tokens">>
}
