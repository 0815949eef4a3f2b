// RUN: heddle-opt %s | heddle-opt | FileCheck %s

#g = #tile.grid<"", 1, 1>
heddle.size @n max 16
heddle.variable @w weight : tensor<8xf32>
heddle.variable @v weight : tensor<64xf32>
heddle.variable @adam.m.w optimizer_state of @v as first_moment : tensor<64xf32> {sharded}

// CHECK: plan.entry @eval arena 1024 {
plan.entry @eval arena 1024 {
  // CHECK: plan.input "x" : tensor<?xi32, #heddle.dims<"n">> at 0 bytes 64 limit 37 role "source.tokens"
  plan.input "x" : tensor<?xi32, #heddle.dims<"n">> at 0 bytes 64 limit 37 role "source.tokens"
  // CHECK: plan.output "y" : tensor<8xf32> at 256 bytes 32
  plan.output "y" : tensor<8xf32> at 256 bytes 32
  // CHECK: plan.segments <at <"n", 0> first <-1 plus[<"x" times 2 from 1>]> count <1> of <"", 8>>
  plan.segments <at <"n", 0> first <-1 plus[<"x" times 2 from 1>]> count <1> of <"", 8>>
  // CHECK: plan.segments <at <"n", 0> first <0> count <0 plus[<"x" times 1 from 0>]> of <"", 8> list "x" of <"n", 0>>
  plan.segments <at <"n", 0> first <0> count <0 plus[<"x" times 1 from 0>]> of <"", 8> list "x" of <"n", 0>>
  // CHECK: plan.launch @k grid [#tile.grid<"n", 8, 2>, #tile.grid<"", 1, 1>, #tile.grid<"", 1, 1>]
  // CHECK-SAME: [#plan.binding<variable "w", 0, 32>, #plan.binding<arena "", 256, 32>, #plan.binding<size "n", 0, 4>]
  plan.launch @k grid [#tile.grid<"n", 8, 2>, #g, #g]
    [#plan.binding<variable "w", 0, 32>, #plan.binding<arena "", 256, 32>, #plan.binding<size "n", 0, 4>]
  // CHECK: plan.repeat "n" most 16 reverse rows "n" of "n" {
  // CHECK-NEXT: plan.launch @k {{.*}} [#plan.binding<arena "", 256, 4 step 4>]
  plan.repeat "n" most 16 reverse rows "n" of "n" {
    plan.launch @k grid [#g, #g, #g] [#plan.binding<arena "", 256, 4 step 4>]
  }
  // CHECK: plan.launch barrier @k
  plan.launch barrier @k grid [#g, #g, #g] []
  // CHECK: plan.launch @k {{.*}}] reads [tensor<8xf32>] writes [tensor<4xbf16>] infinities
  plan.launch @k grid [#g, #g, #g] [#plan.binding<variable "w", 0, 32>, #plan.binding<arena "", 0, 8>]
    reads [tensor<8xf32>] writes [tensor<4xbf16>] infinities
}

// CHECK: plan.entry @blocks arena 1024 blocks [768, 256] {
plan.entry @blocks arena 1024 blocks [768, 256] {
  plan.input "x" : tensor<64xf32> at 768 bytes 256
  plan.launch @k grid [#g, #g, #g] [#plan.binding<arena "", 0, 768>, #plan.binding<arena "", 768, 256>]
}

// CHECK: plan.entry @parallel_step arena 1024 {
plan.entry @parallel_step arena 1024 {
  plan.launch @k grid [#g, #g, #g] []
  // CHECK: plan.collective all_reduce [#plan.binding<arena "", 256, 32>, #plan.binding<variable "w", 0, 32>]
  // CHECK-SAME: to [#plan.binding<arena "", 256, 32>, #plan.binding<arena "", 512, 32>]
  plan.collective all_reduce [#plan.binding<arena "", 256, 32>, #plan.binding<variable "w", 0, 32>]
    to [#plan.binding<arena "", 256, 32>, #plan.binding<arena "", 512, 32>]
  // CHECK: plan.launch @k {{.*}}] shard <"adam.m.w", axis 1 tile 4>
  plan.launch @k grid [#g, #g, #g] [#plan.binding<variable "adam.m.w", 0, 256>] shard <"adam.m.w", axis 1 tile 4>
  // CHECK: plan.collective all_gather [#plan.binding<variable "v", 0, 256>] to [#plan.binding<variable "v", 0, 256>] as [@adam.m.w]
  plan.collective all_gather [#plan.binding<variable "v", 0, 256>] to [#plan.binding<variable "v", 0, 256>] as [@adam.m.w]
  // CHECK: plan.collective reduce_scatter [#plan.binding<arena "", 0, 256>] to [#plan.binding<arena "", 0, 256>] as [@adam.m.w]
  plan.collective reduce_scatter [#plan.binding<arena "", 0, 256>] to [#plan.binding<arena "", 0, 256>] as [@adam.m.w]
}
