// The gradients of joined biases begin at places that are no multiples of a thread's vector, so vectors are narrower.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=cpu:x86-64-v3})' | FileCheck %s

heddle.size @tokens max 600
!x = tensor<?x48xf32, #heddle.dims<"tokens">>
!g = tensor<?x12xf32, #heddle.dims<"tokens">>

// CHECK: tile.func @project_grad_weights
// CHECK-SAME: vector = 4 : i64
// CHECK: tile.store {{.*}} memref<1x48xf32>
func.func @gradients(%x: !x, %a: !g, %b: !g, %c: !g, %d: !g) -> (tensor<192x12xf32>, tensor<48xf32>) {
  %dw, %db = heddle.project_grad_weights %x, %a, %b, %c, %d : !x, !g, !g, !g, !g -> tensor<192x12xf32>, tensor<48xf32>
  return %dw, %db : tensor<192x12xf32>, tensor<48xf32>
}
