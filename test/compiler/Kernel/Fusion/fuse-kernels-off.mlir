// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels{fuse=false}))' | FileCheck %s

// Without fusion each op is a kernel of its own. Ops that cost only a register are still copied into their users.
!x = tensor<?x8xf32, #heddle.dims<"tokens">>
!h = tensor<?x16xf32, #heddle.dims<"tokens">>
// CHECK-LABEL: func.func @layer
// CHECK-NEXT: %[[P:.*]] = heddle.kernel "matmul"(
// CHECK: %[[S:.*]] = heddle.kernel "addf"(%[[P]], %arg2
// CHECK: heddle.broadcast
// CHECK: %[[R:.*]] = heddle.kernel "maximumf"(%[[S]]
// CHECK: heddle.fill
// CHECK: heddle.kernel "sum"(%[[R]]
// CHECK: heddle.kernel "matmul"(%arg0, %[[R]]
func.func @layer(%x: !x, %w: tensor<8x16xf32>, %bias: tensor<16xf32>) -> (tensor<16xf32>, tensor<8x16xf32>) {
  %p = heddle.matmul %x, %w : !x, tensor<8x16xf32> -> !h
  %wide = heddle.broadcast %bias : tensor<16xf32> to !h
  %s = arith.addf %p, %wide : !h
  %zero = heddle.fill 0.0 : f32 : !h
  %r = arith.maximumf %s, %zero : !h
  %b = heddle.sum rows %r : !h -> tensor<16xf32>
  %g = heddle.matmul %x, %r {transpose_lhs} : !x, !h -> tensor<8x16xf32>
  return %b, %g : tensor<16xf32>, tensor<8x16xf32>
}
