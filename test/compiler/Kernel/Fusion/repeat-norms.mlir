// RUN: heddle-opt %s --heddle-fuse-kernels --split-input-file | FileCheck %s
// RUN: heddle-opt %s --heddle-fuse-kernels=fuse=false --split-input-file | FileCheck %s --check-prefix=OFF

// A residual connection computes the norm's result again, so only the rounded result is in memory. Without fusion
// nothing is repeated.
// OFF-NOT: layer_norm_apply

#tokens = #heddle.dims<"tokens">
!x = tensor<?x64xf32, #tokens>
!half = tensor<?x64xbf16, #tokens>
!weight = tensor<64x64xbf16>
!row = tensor<64xf32>
!column = tensor<?xf32, #tokens>
heddle.size @tokens max 512

// CHECK-LABEL: func.func @residual(
// CHECK: %[[N:.*]]:3 = heddle.kernel "layer_norm_truncf"(%arg0, %arg1, %arg2 :
// CHECK-SAME: -> tensor<?xf32, {{.*}}>, tensor<?xf32, {{.*}}>, tensor<?x64xbf16, {{.*}}> {
// CHECK: %[[Z:.*]] = heddle.kernel "matmul_addf_addf"(%[[N]]#2, %arg3, %arg4, %arg0, %arg1, %arg2, %[[N]]#0, %[[N]]#1 :
// CHECK: %[[F:.*]] = heddle.matmul
// CHECK: %[[SUM:.*]] = arith.addf %[[F]]
// CHECK: %[[AGAIN:.*]] = heddle.layer_norm_apply
// CHECK: arith.addf %[[AGAIN]], %[[SUM]]
// CHECK: return %[[Z]]
func.func @residual(%x: !x, %gamma: !row, %beta: !row, %w: !weight, %bias: !row) -> !x {
  %y, %mean, %rstd = heddle.layer_norm %x, %gamma, %beta {epsilon = 1.0e-5 : f32} : !x, !row, !row -> !column
  %half = arith.truncf %y : !x to !half
  %product = heddle.matmul %half, %w : !half, !weight -> !x
  %biases = heddle.broadcast %bias : !row to !x
  %f = arith.addf %product, %biases : !x
  %z = arith.addf %y, %f : !x
  return %z : !x
}

// If the entry returns the norm's result, or a matmul reads it, the result is in memory, and nothing is repeated.
// CHECK-LABEL: func.func @returned(
// CHECK-NOT: layer_norm_apply
func.func @returned(%x: !x, %row: !row, %w: !weight) -> (!x, !x) {
  %y, %mean, %rstd = heddle.layer_norm %x, %row, %row {epsilon = 1.0e-5 : f32} : !x, !row, !row -> !column
  %half = arith.truncf %y : !x to !half
  %product = heddle.matmul %half, %w : !half, !weight -> !x
  %z = arith.addf %y, %product : !x
  return %y, %z : !x, !x
}

// CHECK-LABEL: func.func @multiplied(
// CHECK-NOT: layer_norm_apply
func.func @multiplied(%x: !x, %row: !row, %w: tensor<64x64xf32>) -> !x {
  %y, %mean, %rstd = heddle.layer_norm %x, %row, %row {epsilon = 1.0e-5 : f32} : !x, !row, !row -> !column
  %product = heddle.matmul %y, %w : !x, tensor<64x64xf32> -> !x
  %z = arith.addf %y, %product : !x
  return %z : !x
}

// The sum does not add a matmul that comes after the norm, so the norm's own kernel computes it.
// CHECK-LABEL: func.func @own_epilogue(
// CHECK: heddle.kernel "layer_norm_addf_truncf"
// CHECK-NOT: layer_norm_apply
func.func @own_epilogue(%x: !x, %row: !row, %half: !half, %w: !weight) -> !half {
  %product = heddle.matmul %half, %w : !half, !weight -> !x
  %y, %mean, %rstd = heddle.layer_norm %x, %row, %row {epsilon = 1.0e-5 : f32} : !x, !row, !row -> !column
  %sum = arith.addf %y, %product : !x
  %z = arith.truncf %sum : !x to !half
  return %z : !half
}

// The matmul's kernel has no addresses left for the norm's operands.
// CHECK-LABEL: func.func @crowded(
// CHECK-NOT: layer_norm_apply
func.func @crowded(%x: !x, %row: !row, %w: !weight, %a: !x, %b: !x, %c: !x, %d: !x, %e: !x, %f: !x, %g: !x) -> !x {
  %y, %mean, %rstd = heddle.layer_norm %x, %row, %row {epsilon = 1.0e-5 : f32} : !x, !row, !row -> !column
  %half = arith.truncf %y : !x to !half
  %product = heddle.matmul %half, %w : !half, !weight -> !x
  %0 = arith.mulf %product, %a : !x
  %1 = arith.mulf %0, %b : !x
  %2 = arith.mulf %1, %c : !x
  %3 = arith.mulf %2, %d : !x
  %4 = arith.mulf %3, %e : !x
  %5 = arith.mulf %4, %f : !x
  %6 = arith.mulf %5, %g : !x
  %z = arith.addf %y, %6 : !x
  return %z : !x
}
