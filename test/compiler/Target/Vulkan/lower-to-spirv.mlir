// RUN: heddle-opt %s --pass-pipeline='builtin.module(heddle-lower-to-spirv,spirv.module(cse))' | FileCheck %s

// Arguments are pointers in the push constants. A size is read from there once. Nothing needs 64-bit integers.
// CHECK-LABEL: spirv.module @scale PhysicalStorageBuffer64 Vulkan
// CHECK-SAME: #spirv.vce<v1.5, [Shader, PhysicalStorageBufferAddresses, VulkanMemoryModel], []>
// CHECK: spirv.GlobalVariable @arguments : !spirv.ptr<!spirv.struct<(!spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, PhysicalStorageBuffer> [0],
// CHECK-SAME: !spirv.ptr<!spirv.struct<(!spirv.rtarray<i32, stride=4> [0])>, PhysicalStorageBuffer> [16])>, PushConstant>
// CHECK: spirv.func @main() "None"
// CHECK: %[[SOURCE:.*]] = spirv.Load "PushConstant" %{{.*}} : !spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>
// CHECK: %[[TARGET:.*]] = spirv.Load "PushConstant" %{{.*}} : !spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>
// CHECK: %[[SIZES:.*]] = spirv.Load "PushConstant" %{{.*}} : !spirv.ptr<!spirv.struct<(!spirv.rtarray<i32, stride=4> [0])>
// CHECK: %[[SIZE:.*]] = spirv.AccessChain %[[SIZES]][%{{.*}}, %{{.*}}]
// CHECK: spirv.Load "PhysicalStorageBuffer" %[[SIZE]] ["Aligned", 4] : i32
tile.func @scale(%a: memref<?x64xf32>, %b: memref<?x64xf32>, %n: index)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c4 = arith.constant 4 : index
  %row = gpu.block_id y
  %lane = gpu.thread_id x
  %column = arith.muli %lane, %c4 : index
  // The constant part of an index stays separate, so that rows share the rest.
  // CHECK: %[[LINEAR:.*]] = spirv.IAdd
  // CHECK: %[[FIRST:.*]] = spirv.AccessChain %[[SOURCE]][%{{.*}}, %[[LINEAR]]] : {{.*}} -> !spirv.ptr<f32, PhysicalStorageBuffer>
  // CHECK: %[[VECTORS:.*]] = spirv.Bitcast %[[FIRST]] : {{.*}} to !spirv.ptr<!spirv.struct<(!spirv.rtarray<vector<4xf32>, stride=16> [0])>, PhysicalStorageBuffer>
  // CHECK: %[[PLACE:.*]] = spirv.AccessChain %[[VECTORS]][%{{.*}}, %cst16_i32] : {{.*}} -> !spirv.ptr<vector<4xf32>, PhysicalStorageBuffer>
  // CHECK: %[[READ:.*]] = spirv.Load "PhysicalStorageBuffer" %[[PLACE]] ["Aligned", 16] : vector<4xf32>
  %c1 = arith.constant 1 : index
  %next = arith.addi %row, %c1 : index
  %x = vector.load %a[%next, %column] : memref<?x64xf32>, vector<4xf32>
  // CHECK: %[[WRITTEN:.*]] = spirv.GL.Fma
  %y = math.fma %x, %x, %x : vector<4xf32>
  // CHECK: spirv.mlir.selection
  // CHECK: spirv.Store "PhysicalStorageBuffer" %{{.*}}, %[[WRITTEN]] ["Aligned", 16] : vector<4xf32>
  %inside = arith.cmpi slt, %row, %n : index
  scf.if %inside {
    vector.store %y, %b[%row, %column] : memref<?x64xf32>, vector<4xf32>
  }
  // CHECK: spirv.EntryPoint "GLCompute" @main, @{{.*}}, @{{.*}}, @arguments
  // CHECK: spirv.ExecutionMode @main "LocalSize", 8, 1, 1
  tile.return
}

// There is no instruction for the error function, so it is expanded to arithmetic.
// CHECK-LABEL: spirv.module @erf
// CHECK: spirv.Select
// CHECK: spirv.EntryPoint
tile.func @erf(%a: memref<?x64xf32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %x = vector.load %a[%c0, %c0] : memref<?x64xf32>, vector<4xf32>
  %y = math.erf %x : vector<4xf32>
  vector.store %y, %a[%c0, %c0] : memref<?x64xf32>, vector<4xf32>
  tile.return
}

// Lanes that exchange values are numbered as in their subgroup.
// CHECK-LABEL: spirv.module @exchange
// CHECK-SAME: GroupNonUniform, GroupNonUniformShuffle]
// CHECK: built_in("SubgroupLocalInvocationId")
tile.func @exchange(%a: memref<1x8xf32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : i32
  %c8 = arith.constant 8 : i32
  %lane = gpu.thread_id x
  %x = memref.load %a[%c0, %lane] : memref<1x8xf32>
  // A broadcast would be correct too, but is slow in software.
  // CHECK: spirv.GroupNonUniformShuffle <Subgroup>
  %y, %valid = gpu.shuffle idx %x, %c3, %c8 : f32
  // CHECK: spirv.GroupNonUniformShuffleXor <Subgroup>
  %z, %valid2 = gpu.shuffle xor %y, %c3, %c8 : f32
  memref.store %z, %a[%c0, %lane] : memref<1x8xf32>
  tile.return
}

// The power of two is an instruction.
// CHECK-LABEL: spirv.module @powers
// CHECK: %[[ONE:.*]] = spirv.GL.Exp2 %{{.*}} : f32
// CHECK: spirv.GL.Exp2 %{{.*}} : vector<4xf32>
tile.func @powers(%a: memref<1x8xf32>, %b: memref<?x4xf32>, %n: index)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %lane = gpu.thread_id x
  %x = memref.load %a[%c0, %lane] : memref<1x8xf32>
  %y = math.exp2 %x : f32
  memref.store %y, %a[%c0, %lane] : memref<1x8xf32>
  %v = vector.load %b[%lane, %c0] : memref<?x4xf32>, vector<4xf32>
  %w = math.exp2 %v : vector<4xf32>
  vector.store %w, %b[%lane, %c0] : memref<?x4xf32>, vector<4xf32>
  tile.return
}

// An inner loop's result is selected before an outer loop yields it. MLIR's serializer would lose it otherwise.
// CHECK-LABEL: spirv.module @nested
// CHECK: spirv.mlir.loop
// CHECK: %[[INNER:.*]] = spirv.mlir.loop -> f32
// CHECK: %[[NEXT:.*]] = spirv.Select %{{.*}}, %[[INNER]], %[[INNER]] : i1, f32
// CHECK: spirv.Branch ^{{.*}}(%{{.*}}, %[[NEXT]] : i32, f32)
tile.func @nested(%a: memref<8x1xf32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %sum = scf.for %i = %c0 to %c8 step %c1 iter_args(%outer = %zero) -> f32 {
    %inner = scf.for %j = %c0 to %c8 step %c1 iter_args(%state = %outer) -> f32 {
      %x = memref.load %a[%j, %c0] : memref<8x1xf32>
      %next = arith.addf %state, %x : f32
      scf.yield %next : f32
    }
    scf.yield %inner : f32
  }
  memref.store %sum, %a[%c0, %c0] : memref<8x1xf32>
  tile.return
}

// The lanes of blocks are numbered across subgroups of any width. Eight neighbouring lanes share a block row.
// CHECK-LABEL: spirv.module @blocks
// CHECK-SAME: heddle.exchange = 8
// CHECK: %[[ID:.*]] = spirv.Load "Input" %{{.*}}
// CHECK: %[[WIDTH:.*]] = spirv.Load "Input" %{{.*}}
// CHECK: %[[BEFORE:.*]] = spirv.IMul %[[ID]], %[[WIDTH]] : i32
// CHECK: spirv.IAdd %[[BEFORE]], %{{.*}} : i32
tile.func @blocks(%a: memref<128x1xf32>) attributes {workgroup = 128 : i64, mapping = #tile.mapping<blocks>, subgroup = 8 : i64, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %four = arith.constant 4 : i32
  %width = arith.constant 8 : i32
  %lane = gpu.thread_id x
  %x = memref.load %a[%lane, %c0] : memref<128x1xf32>
  %other, %valid = gpu.shuffle xor %x, %four, %width : f32
  memref.store %other, %a[%lane, %c0] : memref<128x1xf32>
  tile.return
}

// bf16 exists only in memory, as 16-bit integers, in pairs where there are two. In registers it is f32.
// CHECK-LABEL: spirv.module @shorts
// CHECK-SAME: #spirv.vce<v1.5, [Shader, PhysicalStorageBufferAddresses, VulkanMemoryModel, Int16, StorageBuffer16BitAccess], []>
// CHECK: !spirv.rtarray<i16, stride=2>
tile.func @shorts(%a: memref<4x64xbf16>, %b: memref<4x64xf32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  // CHECK: %[[READ:.*]] = spirv.Load "PhysicalStorageBuffer" %{{.*}} ["Aligned", 8] : vector<2xi32>
  // CHECK: %[[FIRST:.*]] = spirv.ShiftLeftLogical %[[READ]], %{{.*}} : vector<2xi32>
  // CHECK: %[[SECOND:.*]] = spirv.BitwiseAnd %[[READ]], %{{.*}} : vector<2xi32>
  // CHECK: spirv.CompositeExtract %[[FIRST]][0
  // CHECK: spirv.CompositeExtract %[[SECOND]][0
  // CHECK: %[[X:.*]] = spirv.Bitcast %{{.*}} : vector<4xi32> to vector<4xf32>
  %x = vector.load %a[%c0, %c0] : memref<4x64xbf16>, vector<4xbf16>
  // CHECK: %[[Y:.*]] = spirv.FMul %[[X]], %[[X]]
  %wide = arith.extf %x : vector<4xbf16> to vector<4xf32>
  %y = arith.mulf %wide, %wide : vector<4xf32>
  // Rounds to nearest even: adds half of the last place, and the last bit that stays.
  // CHECK: %[[BITS:.*]] = spirv.Bitcast %[[Y]] : vector<4xf32> to vector<4xi32>
  // CHECK: spirv.IAdd %[[BITS]], %{{.*}} : vector<4xi32>
  // CHECK: %[[ROUNDED:.*]] = spirv.Select
  // CHECK: %[[FLOAT:.*]] = spirv.Bitcast %[[ROUNDED]] : vector<4xi32> to vector<4xf32>
  %rounded = arith.truncf %y : vector<4xf32> to vector<4xbf16>
  // CHECK: spirv.ShiftRightLogical
  // CHECK-COUNT-2: spirv.BitwiseOr %{{.*}} : i32
  // CHECK: %[[WORDS:.*]] = spirv.CompositeConstruct %{{.*}} : (i32, i32) -> vector<2xi32>
  // CHECK: spirv.Store "PhysicalStorageBuffer" %{{.*}}, %[[WORDS]] ["Aligned", 8] : vector<2xi32>
  vector.store %rounded, %a[%c0, %c8] : memref<4x64xbf16>, vector<4xbf16>
  // CHECK: spirv.Store "PhysicalStorageBuffer" %{{.*}}, %{{.*}} ["Aligned", 2] : i16
  %one = arith.constant 1.0 : bf16
  memref.store %one, %a[%c8, %c0] : memref<4x64xbf16>
  vector.store %y, %b[%c0, %c0] : memref<4x64xf32>, vector<4xf32>
  tile.return
}
