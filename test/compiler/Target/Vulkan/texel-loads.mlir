// RUN: heddle-opt %s --pass-pipeline='builtin.module(heddle-lower-to-spirv{texel-loads},spirv.module(cse))' | FileCheck %s
// RUN: heddle-opt %s --heddle-lower-to-spirv | FileCheck %s --check-prefix=OFF

// What a kernel only reads is also a texel buffer, and vectors come from there: element / 4 is the texel. The rest, and what
// the kernel writes, goes by address.
// CHECK-LABEL: spirv.module @scale
// CHECK-SAME: SampledBuffer
// CHECK: spirv.GlobalVariable @texels_0 bind(0, 0) : !spirv.ptr<!spirv.image<f32, Buffer, NoDepth, NonArrayed, SingleSampled, NeedSampler, Unknown>, UniformConstant>
// CHECK: spirv.GlobalVariable @texels_2 bind(0, 2) : !spirv.ptr<!spirv.image<f32, Buffer
// CHECK-NOT: spirv.GlobalVariable @texels
// CHECK: %[[WHOLE:.*]] = spirv.Load "UniformConstant"
// CHECK: %[[TEXELS:.*]] = spirv.Load "UniformConstant"
// OFF-LABEL: spirv.module @scale
// OFF-NOT: texels
// OFF: spirv.EntryPoint
tile.func @scale(%a: memref<?x64xf32>, %b: memref<?x64xf32>, %c: memref<1x64xi32>)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %row = gpu.block_id y
  %lane = gpu.thread_id x
  %column = arith.muli %lane, %c4 : index
  // CHECK: %[[LINEAR:.*]] = spirv.IAdd
  // CHECK: %[[TEXEL:.*]] = spirv.ShiftRightArithmetic %[[LINEAR]], %cst2_i32
  // CHECK: spirv.ImageFetch %[[TEXELS]], %[[TEXEL]] : {{.*}} -> vector<4xf32>
  %x = vector.load %a[%row, %column] : memref<?x64xf32>, vector<4xf32>
  // CHECK: %[[NEXT:.*]] = spirv.IAdd %[[TEXEL]], %cst16_i32
  // CHECK: spirv.ImageFetch %[[TEXELS]], %[[NEXT]]
  %below = arith.addi %row, %c1 : index
  %y = vector.load %a[%below, %column] : memref<?x64xf32>, vector<4xf32>
  // A constant that is no multiple of four is added before the division.
  // CHECK: %[[SUM:.*]] = spirv.IAdd %{{.*}}, %cst2_i32
  // CHECK: %[[ODD:.*]] = spirv.ShiftRightArithmetic %[[SUM]]
  // CHECK: spirv.ImageFetch %[[TEXELS]], %[[ODD]]
  %off = arith.addi %column, %c2 : index
  %z = vector.load %a[%row, %off] : memref<?x64xf32>, vector<4xf32>
  // Whole numbers are the bits of a texel. A scalar, and what is written: by address.
  // CHECK-NOT: spirv.ImageFetch
  // CHECK: spirv.Load "PhysicalStorageBuffer" %{{.*}} : f32
  %s = memref.load %a[%row, %lane] : memref<?x64xf32>
  // CHECK: %[[BITS:.*]] = spirv.ImageFetch %[[WHOLE]], %{{.*}} -> vector<4xf32>
  // CHECK: spirv.Bitcast %[[BITS]] : vector<4xf32> to vector<4xi32>
  %i = vector.load %c[%c0, %column] : memref<1x64xi32>, vector<4xi32>
  // CHECK: spirv.Load "PhysicalStorageBuffer" %{{.*}} : vector<4xf32>
  %old = vector.load %b[%row, %column] : memref<?x64xf32>, vector<4xf32>
  %f = arith.sitofp %i : vector<4xi32> to vector<4xf32>
  %t = vector.broadcast %s : f32 to vector<4xf32>
  %u0 = arith.addf %x, %y : vector<4xf32>
  %u1 = arith.addf %z, %t : vector<4xf32>
  %u2 = arith.addf %u0, %u1 : vector<4xf32>
  %u3 = arith.addf %f, %old : vector<4xf32>
  %u = arith.addf %u2, %u3 : vector<4xf32>
  vector.store %u, %b[%row, %column] : memref<?x64xf32>, vector<4xf32>
  // CHECK: spirv.EntryPoint "GLCompute" @main{{.*}}@texels
  tile.return
}
