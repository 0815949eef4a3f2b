// Products that are added up are loops of one kernel, each along its own contracted dimension.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=vulkan:software})' | FileCheck %s

!wide = tensor<?x64xf32, #heddle.dims<"tokens">>
!narrow = tensor<?x8xf32, #heddle.dims<"tokens">>
heddle.size @tokens max 2048

// CHECK-LABEL: func.func @adapted(
// CHECK-NEXT: %[[Y:.*]] = tile.launch @matmul_matmul_addf_addf_Tx64({{.*}})
// CHECK-NEXT: return %[[Y]]
func.func @adapted(%x: !wide, %low: !narrow, %w: tensor<64x64xf32>, %b: tensor<8x64xf32>) -> !wide {
  %base = heddle.matmul %x, %w : !wide, tensor<64x64xf32> -> !wide
  %more = heddle.matmul %low, %b : !narrow, tensor<8x64xf32> -> !wide
  %sum = arith.addf %base, %more : !wide
  %y = arith.addf %sum, %x : !wide
  return %y : !wide
}

// CHECK-LABEL: tile.func @matmul_matmul_addf_addf_Tx64(
// CHECK: %[[NONE:.*]] = arith.constant dense<0.0
// CHECK: %[[FIRST:.*]] = scf.for %{{.*}} = %{{.*}} to %c64{{.*}} iter_args(%{{.*}} = %[[NONE]])
// CHECK: %[[BOTH:.*]] = scf.for %{{.*}} = %{{.*}} to %c8{{.*}} iter_args(%{{.*}} = %[[FIRST]])
// CHECK: arith.addf %[[BOTH]], %{{.*}}
