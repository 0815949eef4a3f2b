// RUN: heddle-opt %s --heddle-distribute | FileCheck %s --implicit-check-not=sharded
// RUN: heddle-opt %s --heddle-distribute=shard-optimizer 2>/dev/null | FileCheck %s --check-prefix=SHARDED
// RUN: heddle-opt %s --heddle-distribute=shard-optimizer -o /dev/null 2>&1 | FileCheck %s --check-prefix=WARNING

// The text computes each element of @w by itself, so ranks share its state. An element of @u depends on whole rows.
// WARNING: warning: each rank keeps all states of 1 of the 2 matrices: ranks share out a matrix only if the optimizer's text computes each of its elements separately
heddle.variable @w weight : tensor<16x16xf32>
heddle.variable @u weight : tensor<16x16xf32>
// SHARDED: heddle.variable @optimizer.m.w {{.*}} {sharded}
heddle.variable @optimizer.m.w optimizer_state : tensor<16x16xf32>
// SHARDED: heddle.variable @optimizer.m.u {{.*}} : tensor<16x16xf32>{{$}}
heddle.variable @optimizer.m.u optimizer_state : tensor<16x16xf32>

// CHECK-LABEL: @train
// CHECK: %[[G:.*]] = arith.mulf
// CHECK: %[[SUM:.*]] = heddle.all_reduce %[[G]]
// CHECK: heddle.update %{{.*}}, %[[SUM]] with
// CHECK: %[[H:.*]] = arith.addf %arg0, %arg0
// CHECK: %[[SUM_H:.*]] = heddle.all_reduce %[[H]]
// CHECK: heddle.update %{{.*}}, %[[SUM_H]] with

// SHARDED-LABEL: @train
// SHARDED: %[[G:.*]] = arith.mulf
// SHARDED: %[[SUM:.*]] = heddle.reduce_scatter %[[G]] as [@optimizer.m.w]
// SHARDED: %[[W:.*]], %{{.*}} = heddle.update %{{.*}}, %[[SUM]] with
// SHARDED: } {sharded}
// SHARDED: %[[ALL:.*]] = heddle.all_gather %[[W]] as [@optimizer.m.w]
// SHARDED: heddle.write @w, %[[ALL]]
// SHARDED: heddle.all_reduce
// SHARDED: heddle.update
// SHARDED-NOT: sharded
func.func @train(%x: tensor<16x16xf32> {heddle.name = "x"}) attributes {heddle.ranks} {
  %w = heddle.read @w : tensor<16x16xf32>
  %m = heddle.read @optimizer.m.w : tensor<16x16xf32>
  %g = arith.mulf %x, %x : tensor<16x16xf32>
  %w2, %m2 = heddle.update %w, %g with %m : tensor<16x16xf32> : tensor<16x16xf32>, tensor<16x16xf32> {
  ^bb0(%weight: tensor<16x16xf32>, %gradient: tensor<16x16xf32>, %state: tensor<16x16xf32>):
    %sum = arith.addf %state, %gradient : tensor<16x16xf32>
    %next = arith.subf %weight, %sum : tensor<16x16xf32>
    heddle.yield %next, %sum : tensor<16x16xf32>, tensor<16x16xf32>
  }
  heddle.write @w, %w2 : tensor<16x16xf32>
  heddle.write @optimizer.m.w, %m2 : tensor<16x16xf32>
  %u = heddle.read @u : tensor<16x16xf32>
  %n = heddle.read @optimizer.m.u : tensor<16x16xf32>
  %h = arith.addf %x, %x : tensor<16x16xf32>
  %u2, %n2 = heddle.update %u, %h with %n : tensor<16x16xf32> : tensor<16x16xf32>, tensor<16x16xf32> {
  ^bb0(%weight: tensor<16x16xf32>, %gradient: tensor<16x16xf32>, %state: tensor<16x16xf32>):
    %sum = arith.addf %state, %gradient : tensor<16x16xf32>
    %mixed = heddle.matmul %sum, %weight : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    heddle.yield %mixed, %sum : tensor<16x16xf32>, tensor<16x16xf32>
  }
  heddle.write @u, %u2 : tensor<16x16xf32>
  heddle.write @optimizer.m.u, %n2 : tensor<16x16xf32>
  return
}
