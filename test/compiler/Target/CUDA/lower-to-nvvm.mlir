// RUN: heddle-opt %s --pass-pipeline='builtin.module(heddle-lower-to-nvvm{chip=sm_90a})' | FileCheck %s

// Arguments are addresses. A size is read from its address once.
// CHECK-LABEL: gpu.module @scale [#nvvm.target<{{.*}}chip = "sm_90a"
// CHECK: llvm.func @main(%[[A:.*]]: !llvm.ptr<1>, %[[B:.*]]: !llvm.ptr<1>, %[[N:.*]]: !llvm.ptr<1>)
// CHECK-SAME: nvvm.kernel, nvvm.maxntid = array<i32: 32>
// CHECK: %[[SIZE:.*]] = llvm.load %[[N]] invariant {alignment = 4 : i64} : !llvm.ptr<1> -> i32
tile.func @scale(%a: memref<?x64xf32>, %b: memref<?x64xf32>, %n: index)
    attributes {workgroup = 32 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c4 = arith.constant 4 : index
  // CHECK: %[[ROW:.*]] = nvvm.read.ptx.sreg.ctaid.y : i32
  %row = gpu.block_id y
  // CHECK: nvvm.read.ptx.sreg.tid.x : i32
  %lane = gpu.thread_id x
  %column = arith.muli %lane, %c4 : index
  // The constant part of an index stays separate, so that rows share the rest.
  // CHECK: %[[WIDE:.*]] = llvm.sext %{{.*}} : i32 to i64
  // CHECK: %[[FIRST:.*]] = llvm.getelementptr %[[A]][%[[WIDE]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
  // CHECK: %[[NEXT:.*]] = llvm.getelementptr %[[FIRST]][64] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
  // CHECK: llvm.load %[[NEXT]] {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
  %c1 = arith.constant 1 : index
  %next = arith.addi %row, %c1 : index
  %x = vector.load %a[%next, %column] : memref<?x64xf32>, vector<4xf32>
  %y = math.fma %x, %x, %x : vector<4xf32>
  // CHECK: llvm.icmp "slt" %[[ROW]], %[[SIZE]] : i32
  // CHECK: llvm.cond_br
  // CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
  %inside = arith.cmpi slt, %row, %n : index
  scf.if %inside {
    vector.store %y, %b[%row, %column] : memref<?x64xf32>, vector<4xf32>
  }
  // CHECK: llvm.return
  tile.return
}

// CHECK-LABEL: gpu.module @exchange
tile.func @exchange(%a: memref<1x32xf32>) attributes {workgroup = 32 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : i32
  %c32 = arith.constant 32 : i32
  %lane = gpu.thread_id x
  %x = memref.load %a[%c0, %lane] : memref<1x32xf32>
  // CHECK: %[[EVERY:.*]] = llvm.mlir.constant(-1 : i32)
  // CHECK: nvvm.shfl.sync idx %[[EVERY]]
  %y, %valid = gpu.shuffle idx %x, %c3, %c32 : f32
  // CHECK: nvvm.shfl.sync bfly
  %z, %valid2 = gpu.shuffle xor %y, %c3, %c32 : f32
  memref.store %z, %a[%c0, %lane] : memref<1x32xf32>
  tile.return
}

// Lanes exchange 32 bits: 16-bit numbers go two at a time, or one in a word.
// CHECK-LABEL: gpu.module @exchange_halves
tile.func @exchange_halves(%a: memref<1x128xbf16>, %b: memref<1x32xf16>) attributes {workgroup = 32 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : i32
  %c32 = arith.constant 32 : i32
  %lane = gpu.thread_id x
  %four = arith.constant 4 : index
  %column = arith.muli %lane, %four : index
  %x = vector.load %a[%c0, %column] : memref<1x128xbf16>, vector<4xbf16>
  // CHECK: llvm.bitcast %{{.*}} : vector<4xbf16> to vector<2xi32>
  // CHECK-COUNT-2: nvvm.shfl.sync idx %{{.*}} -> i32
  // CHECK-NOT: nvvm.shfl
  // CHECK: llvm.bitcast %{{.*}} : vector<2xi32> to vector<4xbf16>
  %y, %valid = gpu.shuffle idx %x, %c3, %c32 : vector<4xbf16>
  vector.store %y, %a[%c0, %column] : memref<1x128xbf16>, vector<4xbf16>
  %h = memref.load %b[%c0, %lane] : memref<1x32xf16>
  // CHECK: llvm.bitcast %{{.*}} : f16 to i16
  // CHECK-NEXT: %[[WORD:.*]] = llvm.zext
  // CHECK-NEXT: nvvm.shfl.sync idx %{{.*}}, %[[WORD]]
  // CHECK: llvm.trunc
  // CHECK-NEXT: llvm.bitcast %{{.*}} : i16 to f16
  %z, %valid2 = gpu.shuffle idx %h, %c3, %c32 : f16
  memref.store %z, %b[%c0, %lane] : memref<1x32xf16>
  tile.return
}

// Parts of shared memory follow one another.
// CHECK-LABEL: gpu.module @shared
// CHECK-SAME: heddle.shared_bytes = 3072 : i32
// CHECK: llvm.mlir.global external @shared_memory() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<0 x i8>
tile.func @shared(%a: memref<64x64xbf16>) attributes {workgroup = 128 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %c0 = arith.constant 0 : index
  // CHECK: %[[BASE:.*]] = llvm.mlir.addressof @shared_memory : !llvm.ptr<3>
  // CHECK: llvm.getelementptr %[[BASE]][0] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %s = tile.shared : memref<16x64xbf16, #gpu.address_space<workgroup>>
  // CHECK: %[[NEXT:.*]] = llvm.getelementptr %{{.*}}[2048] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %t = tile.shared : memref<8x64xbf16, #gpu.address_space<workgroup>>
  %lane = gpu.thread_id x
  // CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg
  %token = nvgpu.device_async_copy %a[%lane, %c0], %s[%lane, %c0], 8 {bypassL1}
      : memref<64x64xbf16> to memref<16x64xbf16, #gpu.address_space<workgroup>>
  nvvm.cp.async.commit.group
  nvvm.cp.async.wait.group 0
  // CHECK: nvvm.barrier0
  gpu.barrier
  // CHECK: nvvm.ldmatrix %{{.*}} {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<col>, num = 4 : i32
  %x = nvgpu.ldmatrix %t[%lane, %c0] {transpose = true, numTiles = 4 : i32}
      : memref<8x64xbf16, #gpu.address_space<workgroup>> -> vector<4x2xbf16>
  %y = vector.extract %x[0] : vector<2xbf16> from vector<4x2xbf16>
  vector.store %y, %a[%lane, %c0] : memref<64x64xbf16>, vector<2xbf16>
  tile.return
}

// If one part needs a larger alignment, all parts get it.
// CHECK-LABEL: gpu.module @aligned
// CHECK-SAME: heddle.shared_bytes = 3072 : i32
// CHECK: llvm.mlir.global external @shared_memory() {addr_space = 3 : i32, alignment = 1024 : i64}
tile.func @aligned(%a: memref<1x4xf32>) attributes {workgroup = 128 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %c0 = arith.constant 0 : index
  %s = tile.shared : memref<1x4xf32, #gpu.address_space<workgroup>>
  // CHECK: llvm.getelementptr %{{.*}}[1024] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %t = tile.shared {alignment = 1024} : memref<16x64xbf16, #gpu.address_space<workgroup>>
  %x = memref.load %s[%c0, %c0] : memref<1x4xf32, #gpu.address_space<workgroup>>
  memref.store %x, %a[%c0, %c0] : memref<1x4xf32>
  tile.return
}

// Padded rows, which begin in different banks, are also padded in memory, and the padding counts in the size. The next
// part begins at a multiple of all banks.
// CHECK-LABEL: gpu.module @apart
// CHECK-SAME: heddle.shared_bytes = 4480 : i32
tile.func @apart(%a: memref<16x64xf32>) attributes {workgroup = 128 : i64, mapping = #tile.mapping<blocks>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %s = tile.shared : memref<16x64xf32, strided<[68, 1]>, #gpu.address_space<workgroup>>
  %t = tile.shared : memref<1x4xf32, strided<[4, 1]>, #gpu.address_space<workgroup>>
  // CHECK: llvm.getelementptr %{{.*}}[4352] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  // CHECK: %[[LANE:.*]] = nvvm.read.ptx.sreg.tid.x
  %lane = gpu.thread_id x
  // CHECK: %[[WIDTH:.*]] = llvm.mlir.constant(68 : i32)
  // CHECK: llvm.mul %[[LANE]], %[[WIDTH]]
  %x = vector.load %s[%lane, %c0] : memref<16x64xf32, strided<[68, 1]>, #gpu.address_space<workgroup>>, vector<4xf32>
  vector.store %x, %a[%lane, %c0] : memref<16x64xf32>, vector<4xf32>
  tile.return
}

// In an exclusive or with a constant, along a row whose number of columns is a power of two, the sum that all columns
// share comes first. An approximate power is one instruction; LLVM expands exact ones.
// CHECK-LABEL: gpu.module @exclusive
tile.func @exclusive(%a: memref<64x64xbf16>, %b: memref<1x32xf32>) attributes {workgroup = 32 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %s = tile.shared : memref<32x64xbf16, #gpu.address_space<workgroup>>
  // CHECK: %[[LANE:.*]] = nvvm.read.ptx.sreg.tid.x
  %lane = gpu.thread_id x
  %other = arith.xori %lane, %c16 : index
  // CHECK: %[[WIDTH:.*]] = llvm.mlir.constant(64 : i32)
  // CHECK: %[[ROW:.*]] = llvm.mul %[[LANE]], %[[WIDTH]]
  // CHECK: %[[PLACE:.*]] = llvm.add %[[ROW]], %[[LANE]]
  // CHECK: %[[BITS:.*]] = llvm.mlir.constant(16 : i32)
  // CHECK: llvm.xor %[[PLACE]], %[[BITS]]
  // CHECK: nvvm.ldmatrix
  %x = nvgpu.ldmatrix %s[%lane, %other] {transpose = false, numTiles = 4 : i32}
      : memref<32x64xbf16, #gpu.address_space<workgroup>> -> vector<4x2xbf16>
  %y = vector.extract %x[0] : vector<2xbf16> from vector<4x2xbf16>
  vector.store %y, %a[%lane, %c0] : memref<64x64xbf16>, vector<2xbf16>
  %u = memref.load %b[%c0, %lane] : memref<1x32xf32>
  // CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"(%{{.*}}) : (f32) -> f32
  %v = math.exp2 %u fastmath<afn> : f32
  // CHECK: llvm.intr.exp2
  %w = math.exp2 %v : f32
  memref.store %w, %b[%c0, %lane] : memref<1x32xf32>
  tile.return
}
