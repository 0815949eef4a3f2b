// Completes a module written by hand: calls are inlined, constants become ops of the dialect, and the optimizer's state
// and `init` are added.
// RUN: heddle-opt %s --heddle-complete-module | FileCheck %s
// RUN: heddle-opt %s --heddle-complete-module --heddle-derive-init | FileCheck %s --check-prefix=INIT
// RUN: heddle-compile %s -o %t.heddle | FileCheck %s --check-prefix=COMPILE
// RUN: heddle-compile %s --compile-to=differentiate -o - | FileCheck %s --check-prefix=STEP

// CHECK:      heddle.variable @w weight : tensor<8x4xf32>
// CHECK-NEXT: heddle.variable @adam.m.w optimizer_state of @w as first_moment : tensor<8x4xf32>
// CHECK-NEXT: heddle.variable @adam.v.w optimizer_state of @w as second_moment : tensor<8x4xf32>
// CHECK-NEXT: heddle.variable @step counter as steps : tensor<1xi32>
// CHECK-NOT:  heddle.variable

// Private functions are erased after their calls are inlined. One of them calls another.
// CHECK-NOT:  func.func private
// CHECK-LABEL: func.func @train(
// CHECK:      %[[Y:.*]] = heddle.matmul
// CHECK-NEXT: %[[SQUARE:.*]] = arith.mulf %[[Y]], %[[Y]]
// CHECK-NEXT: %[[C:.*]] = heddle.sum columns %[[SQUARE]]
// CHECK-NEXT: %[[LOSS:.*]] = heddle.sum rows %[[C]]
// CHECK-NEXT: %[[TWO:.*]] = heddle.fill 2.000000e+00 : f32 : tensor<1xf32>
// CHECK-NEXT: %[[TWICE:.*]] = arith.mulf %[[LOSS]], %[[TWO]]
// CHECK-NEXT: heddle.minimize %[[TWICE]]
// CHECK:      return %[[TWICE]]
// CHECK-LABEL: func.func @predict(
// CHECK-NOT:   call
// CHECK:       return

// INIT:       heddle.variable @seed counter as seed : tensor<2xi32>
// INIT-NEXT:  heddle.variable @w weight : tensor<8x4xf32>{{$}}
// INIT-LABEL: func.func @init()
// INIT:         heddle.random normal
// INIT-NEXT:    heddle.write @w
// INIT:         heddle.write @adam.m.w
// INIT:         heddle.write @adam.v.w
// INIT:         heddle.write @step

// COMPILE: 3 entries
// COMPILE: train:
// COMPILE: predict:
// COMPILE: init:

// STEP-LABEL: func.func @train(
// STEP:         heddle.write @w

heddle.size @n max 64
heddle.variable @w weight : tensor<8x4xf32> {start = #heddle.start<normal 1.0 : f64>}

func.func @train(%x: tensor<?x8xf32, #heddle.dims<"n">> {heddle.name = "x"}) -> (tensor<1xf32> {heddle.name = "loss"}) {
  %loss = func.call @loss(%x) : (tensor<?x8xf32, #heddle.dims<"n">>) -> tensor<1xf32>
  %two = arith.constant dense<2.0> : tensor<1xf32>
  %twice = arith.mulf %loss, %two : tensor<1xf32>
  %rate = heddle.minimize %twice {beta1 = 0.9 : f32, beta2 = 0.99 : f32, epsilon = 1.0e-8 : f32, clip_norm = 0.0 : f32} rate {
  ^bb0(%step: tensor<1xf32>):
    %peak = heddle.fill 1.0e-2 : f32 : tensor<1xf32>
    heddle.yield %peak : tensor<1xf32>
  }
  return %twice : tensor<1xf32>
}

func.func @predict(%x: tensor<?x8xf32, #heddle.dims<"n">> {heddle.name = "x"}) -> (tensor<?x4xf32, #heddle.dims<"n">> {heddle.name = "y"}) {
  %y = func.call @model(%x) : (tensor<?x8xf32, #heddle.dims<"n">>) -> tensor<?x4xf32, #heddle.dims<"n">>
  return %y : tensor<?x4xf32, #heddle.dims<"n">>
}

func.func private @loss(%x: tensor<?x8xf32, #heddle.dims<"n">>) -> tensor<1xf32> {
  %y = func.call @model(%x) : (tensor<?x8xf32, #heddle.dims<"n">>) -> tensor<?x4xf32, #heddle.dims<"n">>
  %square = arith.mulf %y, %y : tensor<?x4xf32, #heddle.dims<"n">>
  %columns = heddle.sum columns %square : tensor<?x4xf32, #heddle.dims<"n">> -> tensor<?xf32, #heddle.dims<"n">>
  %sum = heddle.sum rows %columns : tensor<?xf32, #heddle.dims<"n">> -> tensor<1xf32>
  return %sum : tensor<1xf32>
}

func.func private @model(%x: tensor<?x8xf32, #heddle.dims<"n">>) -> tensor<?x4xf32, #heddle.dims<"n">> {
  %w = heddle.read @w : tensor<8x4xf32>
  %y = heddle.matmul %x, %w : tensor<?x8xf32, #heddle.dims<"n">>, tensor<8x4xf32> -> tensor<?x4xf32, #heddle.dims<"n">>
  return %y : tensor<?x4xf32, #heddle.dims<"n">>
}
