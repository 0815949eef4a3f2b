// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-expand-math))' | FileCheck %s

// The device computes the power of two. A correction restores what the rounded multiplication lost.
// CHECK-LABEL: tile.func @exp
tile.func @exp(%a: memref<1x32xf32>) attributes {workgroup = 32 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %lane = gpu.thread_id x
  %x = memref.load %a[%c0, %lane] : memref<1x32xf32>
  // CHECK: %[[LOW:.*]] = arith.maximumf
  // CHECK: %[[X:.*]] = arith.minimumf %[[LOW]]
  // CHECK: %[[EXPONENT:.*]] = arith.mulf %[[X]]
  // CHECK: %[[NEGATED:.*]] = arith.negf %[[EXPONENT]]
  // CHECK: math.fma %[[X]], %{{.*}}, %[[NEGATED]]
  // CHECK: %[[FACTOR:.*]] = math.fma
  // CHECK: %[[POWER:.*]] = math.exp2 %[[EXPONENT]]
  // CHECK: arith.mulf %[[POWER]], %{{.*}}
  // CHECK-NOT: math.exp %
  %y = math.exp %x : f32
  memref.store %y, %a[%c0, %lane] : memref<1x32xf32>
  tile.return
}

// Vectors are expanded as well. Ops with an instruction stay.
// CHECK-LABEL: tile.func @others
tile.func @others(%a: memref<?x4xf32>) attributes {workgroup = 32 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %lane = gpu.thread_id x
  %x = vector.load %a[%lane, %c0] : memref<?x4xf32>, vector<4xf32>
  // CHECK: math.sqrt
  %0 = math.sqrt %x : vector<4xf32>
  // CHECK-NOT: math.{{sin|cos|tanh|log|erf}}
  // CHECK: math.roundeven
  %1 = math.sin %0 : vector<4xf32>
  // CHECK: arith.addi %{{.*}} : vector<4xi32>
  %2 = math.cos %1 : vector<4xf32>
  %3 = math.tanh %2 : vector<4xf32>
  %4 = math.erf %3 : vector<4xf32>
  %5 = math.log %4 : vector<4xf32>
  vector.store %5, %a[%lane, %c0] : memref<?x4xf32>, vector<4xf32>
  // CHECK: tile.return
  tile.return
}

// LLVM has neither pow nor 16-bit functions for NVIDIA GPUs. Both are computed in f32, also inside of other functions.
// CHECK-LABEL: tile.func @functions
// CHECK-NOT: math.{{powf|cbrt|atan2|sinh|log10|log2|tanh|exp }}
// CHECK-NOT: arith.remf
// CHECK: arith.truncf
// CHECK: tile.return
tile.func @functions(%a: memref<1x32xf32>, %b: memref<1x32xf16>) attributes {workgroup = 32 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %lane = gpu.thread_id x
  %x = memref.load %a[%c0, %lane] : memref<1x32xf32>
  %0 = math.powf %x, %x : f32
  %1 = math.cbrt %0 : f32
  %2 = math.atan2 %1, %0 : f32
  %3 = math.sinh %2 : f32
  %4 = math.log10 %3 : f32
  %5 = arith.remf %4, %x : f32
  memref.store %5, %a[%c0, %lane] : memref<1x32xf32>
  %y = memref.load %b[%c0, %lane] : memref<1x32xf16>
  %6 = math.tanh %y : f16
  memref.store %6, %b[%c0, %lane] : memref<1x32xf16>
  tile.return
}
