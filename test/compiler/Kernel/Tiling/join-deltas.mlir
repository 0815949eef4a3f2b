// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-count-costs,heddle-join-deltas{target=cuda:sm_90a})' | FileCheck %s
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-join-deltas{target=vulkan:software})' | FileCheck %s --check-prefix=SOFTWARE
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-join-deltas{target=cuda:sm_90a},heddle-tile{target=cuda:sm_90a})' | FileCheck %s --check-prefix=TILE
// RUN: not heddle-opt %s --pass-pipeline='builtin.module(heddle-join-deltas{target=cuda:sm_08})' 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: there is no target 'cuda:sm_08'; did you mean 'cuda:sm_80'?

// Software Vulkan has no tensor cores.
// SOFTWARE: heddle.kernel "attention_delta"
// SOFTWARE-NOT: matmul_truncf_delta

#tokens = #heddle.dims<"tokens">
!x = tensor<?x1024xf32, #tokens>
!half = tensor<?x1024xbf16, #tokens>
!w = tensor<1024x1024xbf16>
!heads = tensor<?x16xf32, #tokens>
!wide = tensor<?x2xf32, #tokens>
heddle.size @tokens max 16384

// CHECK-LABEL: func.func @delta(
// CHECK: %[[G:.*]]:2 = heddle.kernel "matmul_truncf_delta"(%arg0, %arg1, %arg2 :
// CHECK-SAME: -> tensor<?x1024xbf16, {{.*}}>, tensor<?x16xf32, {{.*}}> {
// CHECK: %[[HALF:.*]] = arith.truncf
// CHECK: %[[WIDE:.*]] = arith.extf %[[HALF]]
// CHECK: %[[DELTA:.*]] = heddle.attention_delta %{{.*}}, %[[WIDE]]
// CHECK: heddle.yield %[[HALF]], %[[DELTA]]
// CHECK: {heddle.cost =
// CHECK: return %[[G]]#0, %[[G]]#1

// A tile of 256 columns has four heads.
// TILE-LABEL: tile.func @matmul_truncf_delta_Tx1024(
// TILE: %[[G:.*]] = scf.for
// TILE: %[[HEAD:.*]] = tile.columns %[[G]] from 0 : tensor<128x256xf32> -> tensor<128x64xf32>
// TILE: tile.load %arg2{{.*}} -> tensor<128x64xbf16>
// TILE: %[[HALF:.*]] = arith.truncf %[[HEAD]]
// TILE: %[[WIDE:.*]] = arith.extf %[[HALF]]
// TILE: %[[TERMS:.*]] = arith.mulf %{{.*}}, %[[WIDE]]
// TILE: %[[NUMBER:.*]] = arith.divui %{{.*}}, %c64
// TILE: %[[SUM:.*]] = tile.reduce sum %[[TERMS]] dim 1
// TILE: tile.store %[[SUM]], %arg4[%{{.*}}, %[[NUMBER]]]
// TILE: tile.columns %[[G]] from 192
// TILE: tile.reduce
// TILE: tile.store %{{.*}}, %arg3[
func.func @delta(%x: !half, %w: !w, %forward: !half) -> (!half, !heads) {
  %product = heddle.matmul %x, %w {transpose_rhs} : !half, !w -> !x
  %gradient = arith.truncf %product : !x to !half
  %y = arith.extf %forward : !half to !x
  %g = arith.extf %gradient : !half to !x
  %delta = heddle.attention_delta %y, %g : !x -> !heads
  return %gradient, %delta : !half, !heads
}

// Not joined: heads wider than a tile, a result of attention that is computed after the matmul, and a gradient that is
// an argument.
// CHECK-LABEL: func.func @apart(
// CHECK: heddle.kernel "attention_delta"
// CHECK: heddle.kernel "attention_delta_addf"
// CHECK: heddle.kernel "attention_delta"
func.func @apart(%x: !half, %w: !w, %forward: !x, %given: !x) -> (!wide, !heads, !heads) {
  %0 = heddle.matmul %x, %w : !half, !w -> !x
  %1 = heddle.attention_delta %forward, %0 : !x -> !wide
  %2 = heddle.matmul %x, %w {transpose_rhs} : !half, !w -> !x
  %3 = heddle.sum rows %2 : !x -> tensor<1024xf32>
  %4 = heddle.broadcast %3 : tensor<1024xf32> to !x
  %5 = arith.addf %4, %forward : !x
  %row = heddle.sum rows %5 : !x -> tensor<1024xf32>
  %6 = heddle.attention_delta %5, %2 : !x -> !heads
  %7 = heddle.attention_delta %forward, %given : !x -> !heads
  return %1, %6, %7 : !wide, !heads, !heads
}

// Not joined in f16: ptxas would serialise the matmul.
// CHECK-LABEL: func.func @f16(
// CHECK: heddle.kernel "attention_delta"
func.func @f16(%x: tensor<?x1024xf16, #tokens>, %w: tensor<1024x1024xf16>, %forward: !x) -> !heads {
  %0 = heddle.matmul %x, %w {transpose_rhs} : tensor<?x1024xf16, #tokens>, tensor<1024x1024xf16> -> !x
  %1 = heddle.attention_delta %forward, %0 : !x -> !heads
  return %1 : !heads
}
