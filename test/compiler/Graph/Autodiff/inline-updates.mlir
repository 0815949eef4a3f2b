// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-inline-updates))' | FileCheck %s

// The regions of the updates are inlined, and equal ops become one.
// CHECK-LABEL: @step
// CHECK-NOT: heddle.update
// CHECK: %[[RATE:.*]] = heddle.broadcast %arg4 : tensor<1xf32> to tensor<4xf32>
// CHECK-NOT: heddle.broadcast
// CHECK: %[[A:.*]] = arith.mulf %arg1, %[[RATE]]
// CHECK: %[[W:.*]] = arith.subf %arg0, %[[A]]
// CHECK: %[[B:.*]] = arith.mulf %arg3, %[[RATE]]
// CHECK: %[[V:.*]] = arith.subf %arg2, %[[B]]
// CHECK: return %[[W]], %[[V]]
func.func @step(%w: tensor<4xf32>, %g: tensor<4xf32>, %v: tensor<4xf32>, %h: tensor<4xf32>, %rate: tensor<1xf32>)
    -> (tensor<4xf32>, tensor<4xf32>) {
  %w2 = heddle.update %w, %g with %rate : tensor<1xf32> : tensor<4xf32> {
  ^bb0(%weight: tensor<4xf32>, %gradient: tensor<4xf32>, %number: tensor<1xf32>):
    %rates = heddle.broadcast %number : tensor<1xf32> to tensor<4xf32>
    %step = arith.mulf %gradient, %rates : tensor<4xf32>
    %next = arith.subf %weight, %step : tensor<4xf32>
    heddle.yield %next : tensor<4xf32>
  }
  %v2 = heddle.update %v, %h with %rate : tensor<1xf32> : tensor<4xf32> {
  ^bb0(%weight: tensor<4xf32>, %gradient: tensor<4xf32>, %number: tensor<1xf32>):
    %rates = heddle.broadcast %number : tensor<1xf32> to tensor<4xf32>
    %step = arith.mulf %gradient, %rates : tensor<4xf32>
    %next = arith.subf %weight, %step : tensor<4xf32>
    heddle.yield %next : tensor<4xf32>
  }
  return %w2, %v2 : tensor<4xf32>, tensor<4xf32>
}

// An update that ranks share is one kernel. Only ops on single numbers stay outside.
// CHECK-LABEL: @sharded
// CHECK: %[[NUMBER:.*]] = arith.mulf %arg3, %arg3 : tensor<1xf32>
// CHECK: %[[NEW:.*]]:2 = heddle.kernel "update"(%arg2, %arg1, %[[NUMBER]], %arg0 :
// CHECK: ^bb0(%[[M:.*]]: tensor<8x16xf32>, %[[G:.*]]: tensor<8x16xf32>, %[[RATE:.*]]: tensor<1xf32>, %[[W:.*]]: tensor<8x16xf32>):
// CHECK: %[[SUM:.*]] = arith.addf %[[M]], %[[G]]
// CHECK: heddle.broadcast %[[RATE]]
// CHECK: } {sharded}
// CHECK: return %[[NEW]]#0, %[[NEW]]#1
func.func @sharded(%w: tensor<8x16xf32>, %g: tensor<8x16xf32>, %m: tensor<8x16xf32>, %rate: tensor<1xf32>)
    -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %w2, %m2 = heddle.update %w, %g with %m, %rate : tensor<8x16xf32>, tensor<1xf32> : tensor<8x16xf32>, tensor<8x16xf32> {
  ^bb0(%weight: tensor<8x16xf32>, %gradient: tensor<8x16xf32>, %state: tensor<8x16xf32>, %number: tensor<1xf32>):
    %sum = arith.addf %state, %gradient : tensor<8x16xf32>
    %square = arith.mulf %number, %number : tensor<1xf32>
    %rates = heddle.broadcast %square : tensor<1xf32> to tensor<8x16xf32>
    %step = arith.mulf %sum, %rates : tensor<8x16xf32>
    %next = arith.subf %weight, %step : tensor<8x16xf32>
    heddle.yield %next, %sum : tensor<8x16xf32>, tensor<8x16xf32>
  } {sharded}
  return %w2, %m2 : tensor<8x16xf32>, tensor<8x16xf32>
}
