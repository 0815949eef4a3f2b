// RUN: heddle-opt %s --pass-pipeline='builtin.module(heddle-lower-to-spirv{texel-loads},spirv.module(cse))' | FileCheck %s
// RUN: heddle-opt %s --heddle-lower-to-spirv | FileCheck %s --check-prefix=OFF

// A matrix that the kernel only reads is also a texel buffer, and its vectors are fetched from there: element / 4 is the
// texel. Other loads, and loads from matrices that the kernel writes, go by address.
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
  // A constant that is no multiple of four is added before the division by four.
  // CHECK: %[[SUM:.*]] = spirv.IAdd %{{.*}}, %cst2_i32
  // CHECK: %[[ODD:.*]] = spirv.ShiftRightArithmetic %[[SUM]]
  // CHECK: spirv.ImageFetch %[[TEXELS]], %[[ODD]]
  %off = arith.addi %column, %c2 : index
  %z = vector.load %a[%row, %off] : memref<?x64xf32>, vector<4xf32>
  // Integers are the bits of a texel. Scalars, and matrices that the kernel writes, are accessed by address.
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

// With vectors of two elements texels have two, too: element / 2 is the texel. Single elements are also fetched.
// CHECK-LABEL: spirv.module @pairs
// CHECK-SAME: heddle.texel_floats = 2
// CHECK: %[[TEXEL:.*]] = spirv.ShiftRightArithmetic %{{.*}}, %cst1_i32
// CHECK: %[[PAIR:.*]] = spirv.ImageFetch %{{.*}}, %[[TEXEL]]
// CHECK: %[[FIRST:.*]] = spirv.CompositeExtract %[[PAIR]][0 : i32]
// CHECK: %[[SECOND:.*]] = spirv.CompositeExtract %[[PAIR]][1 : i32]
// CHECK: spirv.CompositeConstruct %[[FIRST]], %[[SECOND]]
// CHECK: spirv.ImageFetch
// CHECK: spirv.BitwiseAnd
// CHECK: spirv.Select
// CHECK-NOT: spirv.Load "PhysicalStorageBuffer"
tile.func @pairs(%a: memref<?x66xf32>, %b: memref<?x66xf32>)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 2 : i64} {
  %c2 = arith.constant 2 : index
  %row = gpu.block_id y
  %lane = gpu.thread_id x
  %column = arith.muli %lane, %c2 : index
  %x = vector.load %a[%row, %column] : memref<?x66xf32>, vector<2xf32>
  %s = memref.load %a[%row, %lane] : memref<?x66xf32>
  %t = vector.broadcast %s : f32 to vector<2xf32>
  %u = arith.addf %x, %t : vector<2xf32>
  vector.store %u, %b[%row, %column] : memref<?x66xf32>, vector<2xf32>
  tile.return
}

// The kernels of these launches get a whole variable, a part of a variable, and a tensor with an odd number of
// elements. Only the first may be a texel buffer.
heddle.variable @whole weight : tensor<4x66xf32>
heddle.variable @both weight : tensor<7x66xf32>
heddle.variable @part weight : tensor<3x66xf32> in @both from 4
// CHECK-LABEL: spirv.module @copy
// CHECK: spirv.GlobalVariable @texels_0
// CHECK-NOT: spirv.GlobalVariable @texels
// CHECK: spirv.EntryPoint
tile.func @copy(%a: memref<4x66xf32>, %b: memref<3x66xf32>, %one: memref<1x1xf32>, %c: memref<4x66xf32>)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 2 : i64} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %lane = gpu.thread_id x
  %column = arith.muli %lane, %c2 : index
  %x = vector.load %a[%c0, %column] : memref<4x66xf32>, vector<2xf32>
  %y = vector.load %b[%c0, %column] : memref<3x66xf32>, vector<2xf32>
  %s = memref.load %one[%c0, %c0] : memref<1x1xf32>
  %t = vector.broadcast %s : f32 to vector<2xf32>
  %u = arith.addf %x, %y : vector<2xf32>
  %v = arith.addf %u, %t : vector<2xf32>
  vector.store %v, %c[%c0, %column] : memref<4x66xf32>, vector<2xf32>
  tile.return
}
func.func @entry(%one: tensor<1x1xf32>) -> tensor<4x66xf32> {
  %a = heddle.read @whole : tensor<4x66xf32>
  %b = heddle.read @part : tensor<3x66xf32>
  %c = tile.launch @copy(%a, %b, %one) grid [#tile.grid<"", 1, 1>, #tile.grid<"", 1, 1>, #tile.grid<"", 1, 1>] sizes [] reuse [-1] : (tensor<4x66xf32>, tensor<3x66xf32>, tensor<1x1xf32>) -> tensor<4x66xf32>
  return %c : tensor<4x66xf32>
}
