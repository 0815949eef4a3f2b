// A matmul's epilogue computes a norm's result again, a few columns at a time, with the arithmetic of the norm's kernel.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=cuda:sm_90a})' | FileCheck %s
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=vulkan:software})' | FileCheck %s --check-prefix=LANES

#tokens = #heddle.dims<"tokens">
!x = tensor<?x256xf32, #tokens>
!half = tensor<?x256xbf16, #tokens>
!weight = tensor<256x256xbf16>
!row = tensor<256xf32>
!column = tensor<?xf32, #tokens>
heddle.size @tokens max 16384

// CHECK-LABEL: tile.func @matmul_addf_Tx256(
// CHECK: %[[F:.*]] = scf.for
// CHECK: %[[PART:.*]] = tile.columns %[[F]] from 0
// CHECK: %[[X:.*]] = tile.load {{.*}} -> tensor<128x64xf32>
// CHECK: tile.load {{.*}} -> tensor<128x1xf32>
// CHECK: %[[CENTRED:.*]] = arith.subf %[[X]]
// CHECK: %[[NORMAL:.*]] = arith.mulf %[[CENTRED]]
// CHECK: %[[AGAIN:.*]] = math.fma %[[NORMAL]]
// CHECK: %[[Z:.*]] = arith.addf %[[AGAIN]], %[[PART]]
// CHECK: tile.store %[[Z]]
// CHECK: tile.columns %[[F]] from 64

// LANES-LABEL: tile.func @matmul_addf_Tx256(
// LANES: %[[NORMAL:.*]] = arith.mulf
// LANES: %[[AGAIN:.*]] = math.fma %[[NORMAL]]
// LANES: %[[Z:.*]] = arith.addf %[[AGAIN]]
// LANES: tile.store %[[Z]]
func.func @residual(%x: !x, %gamma: !row, %beta: !row, %w: !weight) -> !x {
  %y, %mean, %rstd = heddle.layer_norm %x, %gamma, %beta {epsilon = 1.0e-5 : f32} : !x, !row, !row -> !column
  %half = arith.truncf %y : !x to !half
  %f = heddle.matmul %half, %w : !half, !weight -> !x
  %z = arith.addf %y, %f : !x
  return %z : !x
}
