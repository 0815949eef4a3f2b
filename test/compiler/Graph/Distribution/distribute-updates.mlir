// RUN: heddle-opt %s --heddle-distribute | FileCheck %s
// RUN: heddle-opt %s --heddle-distribute=shard-optimizer 2>&1 | FileCheck %s --check-prefixes=WARN,CHECK
// WARN: warning: ranks share out the states of the fused Adam alone: each rank keeps all states of the optimizer's text

// The gradients of a text's updates are summed up. Its states are not shared out.
heddle.variable @w weight : tensor<256xf32>
// CHECK: heddle.variable @optimizer.m.w optimizer_state : tensor<256xf32>{{$}}
heddle.variable @optimizer.m.w optimizer_state : tensor<256xf32>

// CHECK-LABEL: @train
// CHECK: %[[G:.*]] = arith.mulf
// CHECK: %[[SUM:.*]] = heddle.all_reduce %[[G]]
// CHECK: heddle.update %{{.*}}, %[[SUM]] with
func.func @train(%x: tensor<256xf32> {heddle.name = "x"}) attributes {heddle.ranks} {
  %w = heddle.read @w : tensor<256xf32>
  %m = heddle.read @optimizer.m.w : tensor<256xf32>
  %g = arith.mulf %x, %x : tensor<256xf32>
  %w2, %m2 = heddle.update %w, %g with %m : tensor<256xf32> : tensor<256xf32>, tensor<256xf32> {
  ^bb0(%weight: tensor<256xf32>, %gradient: tensor<256xf32>, %state: tensor<256xf32>):
    %sum = arith.addf %state, %gradient : tensor<256xf32>
    %next = arith.subf %weight, %sum : tensor<256xf32>
    heddle.yield %next, %sum : tensor<256xf32>, tensor<256xf32>
  }
  heddle.write @w, %w2 : tensor<256xf32>
  heddle.write @optimizer.m.w, %m2 : tensor<256xf32>
  return
}
