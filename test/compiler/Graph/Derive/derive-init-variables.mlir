// A module may consist of variables only. The pass loads the dialect of the entry that it makes.
// RUN: heddle-opt %s --heddle-derive-init | FileCheck %s

// CHECK: heddle.variable @w weight : tensor<4x4xf32>{{$}}
// CHECK: func.func @init() {
// CHECK: heddle.write @w
heddle.variable @w weight : tensor<4x4xf32> {start = #heddle.start<uniform 1.0>}
