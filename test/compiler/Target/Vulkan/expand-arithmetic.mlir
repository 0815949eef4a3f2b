// RUN: heddle-opt %s --pass-pipeline='builtin.module(heddle-lower-to-spirv,spirv.module(cse))' | FileCheck %s

// f16 values that are no arguments need the capability for f16 in memory, and are rounded to nearest. No driver may remove
// the conversion to f16 and back.
// CHECK-LABEL: spirv.module @rounded
// CHECK-SAME: #spirv.vce<v1.5, [Shader, PhysicalStorageBufferAddresses, VulkanMemoryModel, Float16, StorageBuffer16BitAccess, RoundingModeRTE], []>
// CHECK: spirv.FConvert %{{.*}} {no_contraction} : vector<4xf32> to vector<4xf16>
// CHECK: spirv.ExecutionMode @main "RoundingModeRTE", 16
tile.func @rounded(%a: memref<4x64xf32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %x = vector.load %a[%c0, %c0] : memref<4x64xf32>, vector<4xf32>
  %narrow = arith.truncf %x : vector<4xf32> to vector<4xf16>
  %y = arith.extf %narrow : vector<4xf16> to vector<4xf32>
  vector.store %y, %a[%c0, %c0] : memref<4x64xf32>, vector<4xf32>
  tile.return
}

// Magnitudes are compared: Vulkan has neither OpIsFinite nor OpIsNormal.
// CHECK-LABEL: spirv.module @classes
// CHECK-NOT: spirv.{{IsFinite|IsNormal|IsInf}}
// CHECK: spirv.FOrdLessThan
// CHECK: spirv.FOrdGreaterThanEqual
// CHECK: spirv.IsNan
// CHECK: spirv.EntryPoint
tile.func @classes(%a: memref<1x8xf32>, %b: memref<1x8xi32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %lane = gpu.thread_id x
  %x = memref.load %a[%c0, %lane] : memref<1x8xf32>
  %0 = math.isfinite %x : f32
  %1 = math.isnormal %x : f32
  %2 = math.isnan %x : f32
  %3 = math.isinf %x : f32
  %4 = arith.xori %0, %1 : i1
  %5 = arith.xori %2, %3 : i1
  %6 = arith.xori %4, %5 : i1
  %y = arith.extui %6 : i1 to i32
  memref.store %y, %b[%c0, %lane] : memref<1x8xi32>
  tile.return
}

// C's pow and fmod, not GLSL's.
// CHECK-LABEL: spirv.module @powers
// CHECK-NOT: spirv.GL.Pow
// CHECK: spirv.GL.Log
// CHECK: spirv.GL.Exp2
// CHECK-NOT: spirv.FRem
// CHECK: spirv.EntryPoint
tile.func @powers(%a: memref<1x8xf32>, %b: memref<4x4xf16>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = vector.load %a[%c0, %c0] : memref<1x8xf32>, vector<4xf32>
  %y = math.powf %x, %x : vector<4xf32>
  %z = arith.remf %y, %x : vector<4xf32>
  vector.store %z, %a[%c0, %c0] : memref<1x8xf32>, vector<4xf32>
  %half = memref.load %b[%c0, %c0] : memref<4x4xf16>
  %power = math.powf %half, %half : f16
  %rest = arith.remf %power, %half : f16
  memref.store %rest, %b[%c0, %c1] : memref<4x4xf16>
  tile.return
}

// test/conformance/arithmetic.py compares the results of these ops.
// CHECK-LABEL: spirv.module @others
// CHECK-NOT: math.
// CHECK: spirv.EntryPoint
tile.func @others(%a: memref<4x64xf32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %0 = vector.load %a[%c0, %c0] : memref<4x64xf32>, vector<4xf32>
  %1 = math.trunc %0 : vector<4xf32>
  %2 = math.cbrt %1 : vector<4xf32>
  %3 = math.atan2 %2, %0 : vector<4xf32>
  %4 = math.erfc %3 : vector<4xf32>
  %5 = math.clampf %4 to [%0, %1] : vector<4xf32>
  vector.store %5, %a[%c0, %c0] : memref<4x64xf32>, vector<4xf32>
  tile.return
}

// One-bit numbers wrap at 2 and are signed: true is -1.
// CHECK-LABEL: spirv.module @booleans
// CHECK: spirv.LogicalNotEqual
// CHECK: spirv.LogicalAnd
// CHECK: spirv.LogicalAnd
// CHECK: spirv.LogicalOr
// CHECK: %[[MINUS:.*]] = spirv.Constant dense<-1.000000e+00> : vector<4xf32>
// CHECK: spirv.Select %{{.*}}, %[[MINUS]], %{{.*}} : vector<4xi1>, vector<4xf32>
tile.func @booleans(%a: memref<4x64xf32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = vector.load %a[%c0, %c0] : memref<4x64xf32>, vector<4xf32>
  %y = vector.load %a[%c1, %c0] : memref<4x64xf32>, vector<4xf32>
  %0 = arith.cmpf ogt, %x, %y : vector<4xf32>
  %1 = arith.cmpf oeq, %x, %x : vector<4xf32>
  %2 = arith.addi %0, %1 : vector<4xi1>
  %3 = arith.muli %2, %0 : vector<4xi1>
  %4 = arith.maxsi %3, %1 : vector<4xi1>
  %5 = arith.maxui %4, %2 : vector<4xi1>
  %6 = arith.sitofp %5 : vector<4xi1> to vector<4xf32>
  vector.store %6, %a[%c0, %c0] : memref<4x64xf32>, vector<4xf32>
  tile.return
}
