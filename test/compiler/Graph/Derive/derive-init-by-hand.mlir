// A module written by hand gets no `init` if a weight lacks an initial value: the caller writes the weights. Storage
// that holds other weights has no moments of its own.
// RUN: heddle-opt %s --heddle-complete-module --heddle-derive-init | FileCheck %s

// CHECK: heddle.variable @both weight : tensor<8xf32>
// CHECK-NOT: adam.m.both
// CHECK: heddle.variable @a weight
// CHECK-NEXT: heddle.variable @adam.m.a
// CHECK-NEXT: heddle.variable @adam.v.a
// CHECK-NOT: func.func @init

heddle.variable @both weight : tensor<8xf32>
heddle.variable @a weight : tensor<4xf32> in @both from 0
heddle.variable @b weight : tensor<4xf32> in @both from 4

func.func @train() -> (tensor<1xf32> {heddle.name = "loss"}) {
  %a = heddle.read @a : tensor<4xf32>
  %b = heddle.read @b : tensor<4xf32>
  %loss = heddle.fill 0.0 : f32 : tensor<1xf32>
  %rate = heddle.minimize %loss {beta1 = 0.9 : f32, beta2 = 0.99 : f32, epsilon = 1.0e-8 : f32, clip_norm = 0.0 : f32} rate {
  ^bb0(%step: tensor<1xf32>):
    %peak = heddle.fill 1.0e-2 : f32 : tensor<1xf32>
    heddle.yield %peak : tensor<1xf32>
  }
  return %loss : tensor<1xf32>
}
