// For an update with a sharded state the plan says which variable's rows ranks share, and along which axis of the grid.
// The gathered rows take the place of the update's result, the weight itself. Of a gradient's sum each rank gets its
// rows.
// RUN: heddle-opt %s --heddle-tile --heddle-plan | FileCheck %s

heddle.variable @w weight : tensor<64x32xf32>
heddle.variable @adam.m.w optimizer_state of @w as first_moment : tensor<64x32xf32> {sharded}
heddle.variable @adam.v.w optimizer_state of @w as second_moment : tensor<64x32xf32> {sharded}
heddle.variable @v weight : tensor<4096xf32>
heddle.variable @adam.m.v optimizer_state of @v as first_moment : tensor<4096xf32> {sharded}
heddle.variable @adam.v.v optimizer_state of @v as second_moment : tensor<4096xf32> {sharded}

// CHECK: plan.entry @step
// CHECK: plan.collective reduce_scatter [#plan.binding<arena "", {{[0-9]+}}, 8192>] to [#plan.binding<arena "", {{[0-9]+}}, 8192>] as [@adam.m.w]
// The elements of a vector are its rows.
// CHECK: plan.launch @adam_4096
// CHECK-SAME: shard <"adam.m.v", axis 0 tile {{[0-9]+}}>
// CHECK: plan.launch barrier @adam_64x32 grid [#tile.grid<"", 1, 1>, #tile.grid<"", 1, [[GROUPS:[0-9]+]]>, #tile.grid<"", 1, 1>]
// CHECK-SAME: #plan.binding<variable "w", 0, 8192>, {{.*}}#plan.binding<variable "w", 0, 8192>,
// CHECK-SAME: shard <"adam.m.w", axis 1 tile {{[0-9]+}}>
// CHECK: plan.collective all_gather [#plan.binding<variable "w", 0, 8192>, #plan.binding<variable "v", 0, 16384>]
// CHECK-SAME: to [#plan.binding<variable "w", 0, 8192>, #plan.binding<variable "v", 0, 16384>] as [@adam.m.w, @adam.m.v]
func.func @step(%g: tensor<64x32xf32> {heddle.name = "g"}, %h: tensor<4096xf32> {heddle.name = "h"}, %r: tensor<1xf32> {heddle.name = "r"}) {
  %w = heddle.read @w : tensor<64x32xf32>
  %m = heddle.read @adam.m.w : tensor<64x32xf32>
  %s = heddle.read @adam.v.w : tensor<64x32xf32>
  %sum = heddle.reduce_scatter %g as [@adam.m.w] : tensor<64x32xf32>
  %0:3 = heddle.kernel "adam"(%w, %sum, %m, %s, %r : tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>, tensor<1xf32>)
      -> tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32> {
  ^bb0(%a: tensor<64x32xf32>, %b: tensor<64x32xf32>, %c: tensor<64x32xf32>, %d: tensor<64x32xf32>, %rate: tensor<1xf32>):
    %w2, %m2, %v2 = heddle.adam %a, %b, %c, %d rate %rate corrections %rate, %rate scale %rate
      {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32, sharded} : tensor<64x32xf32>
    heddle.yield %w2, %m2, %v2 : tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>
  }
  %v = heddle.read @v : tensor<4096xf32>
  %mv = heddle.read @adam.m.v : tensor<4096xf32>
  %sv = heddle.read @adam.v.v : tensor<4096xf32>
  %1:3 = heddle.kernel "adam"(%v, %h, %mv, %sv, %r : tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>, tensor<1xf32>)
      -> tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32> {
  ^bb0(%a: tensor<4096xf32>, %b: tensor<4096xf32>, %c: tensor<4096xf32>, %d: tensor<4096xf32>, %rate: tensor<1xf32>):
    %w2, %m2, %v2 = heddle.adam %a, %b, %c, %d rate %rate corrections %rate, %rate scale %rate
      {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32, sharded} : tensor<4096xf32>
    heddle.yield %w2, %m2, %v2 : tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>
  }
  %2:2 = heddle.all_gather %0#0, %1#0 as [@adam.m.w, @adam.m.v] : tensor<64x32xf32>, tensor<4096xf32>
  heddle.write @w, %2#0 : tensor<64x32xf32>
  heddle.write @adam.m.w, %0#1 : tensor<64x32xf32>
  heddle.write @adam.v.w, %0#2 : tensor<64x32xf32>
  heddle.write @v, %2#1 : tensor<4096xf32>
  heddle.write @adam.m.v, %1#1 : tensor<4096xf32>
  heddle.write @adam.v.v, %1#2 : tensor<4096xf32>
  return
}

// 16-bit moments have half of the weight's bytes.
heddle.variable @n weight : tensor<64x64xf32>
heddle.variable @adam.m.n optimizer_state of @n as first_moment : tensor<64x64xbf16> {sharded}
heddle.variable @adam.v.n optimizer_state of @n as second_moment : tensor<64x64xbf16> {sharded}

// CHECK: plan.entry @narrow
// CHECK: plan.launch @adam_64x64
// CHECK-SAME: #plan.binding<variable "n", 0, 16384>, {{.*}}#plan.binding<variable "adam.m.n", 0, 8192>, #plan.binding<variable "adam.v.n", 0, 8192>,
// CHECK-SAME: shard <"adam.m.n", axis 1 tile {{[0-9]+}}>
// CHECK: plan.collective all_gather [#plan.binding<variable "n", 0, 16384>] to [#plan.binding<variable "n", 0, 16384>] as [@adam.m.n]
func.func @narrow(%g: tensor<64x64xf32> {heddle.name = "g"}, %r: tensor<1xf32> {heddle.name = "r"}, %step: tensor<1xi32> {heddle.name = "step"}) {
  %w = heddle.read @n : tensor<64x64xf32>
  %m = heddle.read @adam.m.n : tensor<64x64xbf16>
  %s = heddle.read @adam.v.n : tensor<64x64xbf16>
  %0:3 = heddle.kernel "adam"(%w, %g, %m, %s, %r, %step : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<1xf32>, tensor<1xi32>)
      -> tensor<64x64xf32>, tensor<64x64xbf16>, tensor<64x64xbf16> {
  ^bb0(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>, %c: tensor<64x64xbf16>, %d: tensor<64x64xbf16>, %rate: tensor<1xf32>, %count: tensor<1xi32>):
    %w2, %m2, %v2 = heddle.adam %a, %b, %c, %d rate %rate corrections %rate, %rate scale %rate rounding %count
      {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32, sharded} : tensor<64x64xf32>, tensor<64x64xbf16>
    heddle.yield %w2, %m2, %v2 : tensor<64x64xf32>, tensor<64x64xbf16>, tensor<64x64xbf16>
  }
  %1 = heddle.all_gather %0#0 as [@adam.m.n] : tensor<64x64xf32>
  heddle.write @n, %1 : tensor<64x64xf32>
  heddle.write @adam.m.n, %0#1 : tensor<64x64xbf16>
  heddle.write @adam.v.n, %0#2 : tensor<64x64xbf16>
  return
}
