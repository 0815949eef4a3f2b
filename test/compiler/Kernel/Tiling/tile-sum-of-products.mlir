// Matmuls that are added are loops of one kernel, each along its own K dimension.
// RUN: heddle-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=vulkan:software})' | FileCheck %s
// RUN: heddle-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(heddle-set-precision{precision=bf16},heddle-fuse-kernels),heddle-tile{target=cuda:sm_90a})' | FileCheck %s --check-prefix=TENSOR

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

// The same on tensor cores, where all operands have one type.
// TENSOR-LABEL: func.func @adapted(
// TENSOR: tile.launch @matmul_matmul_addf_addf_Tx64(
// TENSOR-NEXT: return
// TENSOR-LABEL: tile.func @matmul_matmul_addf_addf_Tx64(
// TENSOR-SAME: mapping = #tile.mapping<tensor>
// TENSOR: %[[FIRST:.*]] = scf.for %{{.*}} = %{{.*}} to %c64{{.*}} step %c64
// TENSOR:   tile.dot {{.*}} : tensor<64x64xbf16>, tensor<32x64xbf16>
// TENSOR: scf.for %{{.*}} = %{{.*}} to %c8{{.*}} step %c64{{.*}} iter_args(%{{.*}} = %[[FIRST]])
// TENSOR:   tile.load {{.*}} columns(%c8{{.*}})

// -----

!wide = tensor<?x64xf32, #heddle.dims<"tokens">>
!narrow = tensor<?x8xf32, #heddle.dims<"tokens">>
heddle.size @tokens max 2048

// Packed numbers come first, because the scales of columns multiply all sums so far. Lanes multiply them, and so they
// multiply an adapter's few 16-bit columns.
// CHECK-LABEL: func.func @packed(
// CHECK-NEXT: %[[Y:.*]] = tile.launch @matmul_matmul_addf_Tx64({{.*}})
// CHECK-NEXT: return %[[Y]]
// CHECK-LABEL: tile.func @matmul_matmul_addf_Tx64(
// CHECK: %[[BASE:.*]] = scf.for %{{.*}} = %{{.*}} to %c64{{.*}} step %c8
// CHECK:   tile.load {{.*}} {packed = 8 : i64}
// CHECK: }
// CHECK: %[[SCALED:.*]] = arith.mulf %[[BASE]]
// CHECK: scf.for %{{.*}} = %{{.*}} to %c8{{.*}} iter_args(%{{.*}} = %[[SCALED]])
// TENSOR-LABEL: tile.func @matmul_matmul_addf_Tx64(
// TENSOR-SAME: mapping = #tile.mapping<columns>
// TENSOR: tile.load {{.*}} {packed = 8 : i64}
// TENSOR: arith.extf %{{.*}} : tensor<{{.*}}xbf16> to
func.func @packed(%x: !wide, %low: !narrow, %words: tensor<16x64xi32>, %scales: tensor<1x64xf32>, %b: tensor<8x64xf32>) -> !wide {
  %w = heddle.dequantize %words scales(%scales) {bits = 8} : (tensor<16x64xi32>, tensor<1x64xf32>) -> tensor<64x64xf32>
  %more = heddle.matmul %low, %b : !narrow, tensor<8x64xf32> -> !wide
  %base = heddle.matmul %x, %w : !wide, tensor<64x64xf32> -> !wide
  %sum = arith.addf %more, %base : !wide
  return %sum : !wide
}

// -----

!wide = tensor<?x64xf32, #heddle.dims<"tokens">>
heddle.size @tokens max 2048

// An adapter with many columns is faster on tensor cores, so each matmul has its own kernel.
// TENSOR-LABEL: func.func @many_columns(
// TENSOR: tile.launch @matmul_Tx64
// TENSOR: tile.launch @matmul_addf_Tx64
// TENSOR: return
func.func @many_columns(%x: !wide, %low: tensor<?x128xf32, #heddle.dims<"tokens">>, %words: tensor<16x64xi32>, %scales: tensor<1x64xf32>, %b: tensor<128x64xf32>) -> !wide {
  %w = heddle.dequantize %words scales(%scales) {bits = 8} : (tensor<16x64xi32>, tensor<1x64xf32>) -> tensor<64x64xf32>
  %base = heddle.matmul %x, %w : !wide, tensor<64x64xf32> -> !wide
  %more = heddle.matmul %low, %b : tensor<?x128xf32, #heddle.dims<"tokens">>, tensor<128x64xf32> -> !wide
  %sum = arith.addf %base, %more : !wide
  return %sum : !wide
}
