// RUN: heddle-opt %s --pass-pipeline='builtin.module(heddle-lower-to-llvm)' | FileCheck %s

// The function takes bindings, grid, first workgroup, number of workgroups and scratch memory. It loads each address
// and each run-time size once, then runs the workgroups.
// CHECK-LABEL: llvm.func @scale(
// CHECK-SAME: %[[BINDINGS:.*]]: !llvm.ptr, %[[GRID:.*]]: !llvm.ptr, %[[FIRST:.*]]: i32, %[[COUNT:.*]]: i32, %{{.*}}: !llvm.ptr) {
// CHECK-DAG: %[[PLACE_A:.*]] = llvm.getelementptr %[[BINDINGS]][0] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
// CHECK-DAG: %[[A:.*]] = llvm.load %[[PLACE_A]] : !llvm.ptr -> !llvm.ptr
// CHECK-DAG: %[[PLACE_B:.*]] = llvm.getelementptr %[[BINDINGS]][1]
// CHECK-DAG: %[[B:.*]] = llvm.load %[[PLACE_B]] : !llvm.ptr -> !llvm.ptr
// CHECK-DAG: %[[PLACE_N:.*]] = llvm.getelementptr %[[BINDINGS]][3]
// CHECK-DAG: %[[SIZE:.*]] = llvm.load %[[PLACE_N]] : !llvm.ptr -> !llvm.ptr
// CHECK-DAG: %[[N32:.*]] = llvm.load %[[SIZE]] : !llvm.ptr -> i32
// CHECK-DAG: %[[N:.*]] = llvm.sext %[[N32]] : i32 to i64
// The unused third argument is not loaded.
// CHECK-NOT: llvm.getelementptr %[[BINDINGS]][2]
// CHECK-DAG: %[[BEGIN:.*]] = llvm.zext %[[FIRST]] : i32 to i64
// CHECK-DAG: %[[MORE:.*]] = llvm.zext %[[COUNT]] : i32 to i64
// CHECK-DAG: %[[END:.*]] = llvm.add %[[BEGIN]], %[[MORE]] : i64
tile.func @scale(%a: memref<?x50xf32>, %b: memref<?x50xf32>, %unused: memref<?x50xf32>, %n: index)
    attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 2 : i64} {
  // Workgroup (x, y, z) has the number x + grid[0] (y + grid[1] z).
  // CHECK: llvm.br ^[[HEAD:.*]](%[[BEGIN]] : i64)
  // CHECK: ^[[HEAD]](%[[NUMBER:.*]]: i64):
  // CHECK: llvm.icmp "slt" %[[NUMBER]], %[[END]] : i64
  // CHECK: %[[STRIPS:.*]] = llvm.udiv %[[NUMBER]], %[[X:.*]] : i64
  // CHECK-DAG: %[[COLUMN:.*]] = llvm.urem %[[NUMBER]], %[[X]] : i64
  // CHECK-DAG: %[[ROW:.*]] = llvm.urem %[[STRIPS]], %[[Y:.*]] : i64
  // CHECK-DAG: %[[LAYER:.*]] = llvm.udiv %[[STRIPS]], %[[Y]] : i64
  %column = gpu.block_id x
  %row = gpu.block_id y
  %layer = gpu.block_id z
  %lane = gpu.thread_id x
  %second = arith.addi %column, %lane : index
  // Rows of 50 elements do not begin at multiples of a vector's size, so the alignment is an element's.
  // CHECK: llvm.getelementptr %[[A]]
  // CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<2xf32>
  %x = vector.load %a[%row, %second] : memref<?x50xf32>, vector<2xf32>
  // CHECK: llvm.intr.fma
  %y = math.fma %x, %x, %x : vector<2xf32>
  // CHECK: llvm.icmp "slt" %[[LAYER]], %[[N]] : i64
  %inside = arith.cmpi slt, %layer, %n : index
  scf.if %inside {
    // CHECK: llvm.getelementptr %[[B]]
    // CHECK: llvm.store %{{.*}} {alignment = 4 : i64} : vector<2xf32>, !llvm.ptr
    vector.store %y, %b[%row, %column] : memref<?x50xf32>, vector<2xf32>
  }
  // CHECK: llvm.br ^[[HEAD]](
  // CHECK: llvm.return
  tile.return
}

// A masked access touches only the elements that count.
// CHECK-LABEL: llvm.func @masked(
// CHECK: %[[X:.*]] = llvm.intr.masked.load %{{.*}}, %[[MASK:.*]], %{{.*}} {alignment = 4 : i32} : {{.*}} -> vector<8xf32>
// CHECK: llvm.intr.masked.store %[[X]], %{{.*}}, %[[MASK]] {alignment = 4 : i32} : vector<8xf32>
tile.func @masked(%a: memref<?x50xf32>, %b: memref<?x50xf32>, %n: index)
    attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 8 : i64} {
  %numbers = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : vector<8xi32>
  %zero = arith.constant dense<0.0> : vector<8xf32>
  %row = gpu.block_id x
  %count = arith.index_cast %n : index to i32
  %counts = vector.broadcast %count : i32 to vector<8xi32>
  %mask = arith.cmpi slt, %numbers, %counts : vector<8xi32>
  %x = vector.maskedload %a[%row, %n], %mask, %zero : memref<?x50xf32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
  vector.maskedstore %b[%row, %n], %mask, %x : memref<?x50xf32>, vector<8xi1>, vector<8xf32>
  tile.return
}

// Shared tiles are parts of the scratch memory, each at a multiple of 64 bytes. A barrier of one lane is erased.
// CHECK-LABEL: llvm.func @scratch(
// CHECK-SAME: %[[SCRATCH:[^ ]*]]: !llvm.ptr) attributes {heddle.scratch_bytes = 192 : i32}
// CHECK-NOT: barrier
tile.func @scratch(%a: memref<3x8xf32>) attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 8 : i64} {
  %c0 = arith.constant 0 : index
  // 3 x 8 f32 are 96 bytes, so the next tile begins at byte 128.
  // CHECK: %[[S:.*]] = llvm.getelementptr %[[SCRATCH]][0] : (!llvm.ptr) -> !llvm.ptr, i8
  %s = tile.shared : memref<3x8xf32, #gpu.address_space<workgroup>>
  // CHECK: %[[T:.*]] = llvm.getelementptr %[[SCRATCH]][128] : (!llvm.ptr) -> !llvm.ptr, i8
  %t = tile.shared : memref<1x8xf32, #gpu.address_space<workgroup>>
  %x = vector.load %a[%c0, %c0] : memref<3x8xf32>, vector<8xf32>
  // CHECK: llvm.store %{{.*}}, %[[S]] {alignment = 4 : i64}
  vector.store %x, %s[%c0, %c0] : memref<3x8xf32, #gpu.address_space<workgroup>>, vector<8xf32>
  gpu.barrier
  // CHECK: llvm.load %[[S]] {alignment = 4 : i64}
  %y = vector.load %s[%c0, %c0] : memref<3x8xf32, #gpu.address_space<workgroup>>, vector<8xf32>
  // CHECK: llvm.store %{{.*}}, %[[T]] {alignment = 4 : i64}
  vector.store %y, %t[%c0, %c0] : memref<1x8xf32, #gpu.address_space<workgroup>>, vector<8xf32>
  // CHECK: llvm.return
  tile.return
}

// bf16 is only moved here, as 16-bit integers.
// CHECK-LABEL: llvm.func @move(
// CHECK: %[[X:.*]] = llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr -> vector<8xi16>
// CHECK: llvm.store %[[X]], %{{.*}} {alignment = 2 : i64} : vector<8xi16>, !llvm.ptr
// CHECK-NOT: bf16
// CHECK: llvm.return
tile.func @move(%a: memref<4x8xbf16>) attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 8 : i64} {
  %c0 = arith.constant 0 : index
  %row = gpu.block_id x
  %x = vector.load %a[%c0, %c0] : memref<4x8xbf16>, vector<8xbf16>
  vector.store %x, %a[%row, %c0] : memref<4x8xbf16>, vector<8xbf16>
  tile.return
}

// CHECK-LABEL: llvm.func @ahead(
// CHECK: "llvm.intr.prefetch"(%{{.*}}) <{cache = 1 : i32, hint = 3 : i32, rw = 0 : i32}>
tile.func @ahead(%a: memref<?x50xi32>) attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 8 : i64} {
  %row = gpu.block_id y
  %column = gpu.block_id x
  memref.prefetch %a[%row, %column], read, locality<3>, data : memref<?x50xi32>
  tile.return
}

// A launch has numbers of its thread in front of the scratch memory. The kernel compares each workgroup's number with
// the previous one.
// CHECK-LABEL: llvm.func @changed(
// CHECK-SAME: %[[SCRATCH:[^ ]*]]: !llvm.ptr) attributes
// CHECK: %[[KEPT:.*]] = llvm.getelementptr %[[SCRATCH]][-8] : (!llvm.ptr) -> !llvm.ptr, i64
// CHECK: %[[FIRST:.*]] = llvm.load %[[KEPT]] : !llvm.ptr -> i64
// CHECK: llvm.br ^[[HEAD:.*]](%{{.*}}, %[[FIRST]] : i64, i64)
// CHECK: ^[[HEAD]](%{{.*}}: i64, %[[BEFORE:.*]]: i64):
// CHECK: %[[CHANGED:.*]] = llvm.icmp "ne" %[[ROW:.*]], %[[BEFORE]] : i64
// CHECK: llvm.cond_br %[[CHANGED]]
// Unsigned bytes come first.
// CHECK: %[[LEFT:.*]] = llvm.bitcast %{{.*}} : vector<16xi32> to vector<64xi8>
// CHECK: %[[RIGHT:.*]] = llvm.bitcast %{{.*}} : vector<16xi32> to vector<64xi8>
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"(%{{.*}}, %[[RIGHT]], %[[LEFT]])
// CHECK: llvm.br ^[[HEAD]](%{{.*}}, %[[ROW]] : i64, i64)
// CHECK: llvm.store %[[BEFORE]], %{{.*}} : i64, !llvm.ptr
tile.func @changed(%a: memref<?x16xi32>, %b: memref<?x16xi32>)
    attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 16 : i64} {
  %c0 = arith.constant 0 : index
  %shared = tile.shared : memref<1x16xi32, strided<[16, 1]>, #gpu.address_space<workgroup>>
  %row = gpu.block_id y
  %changed = tile.changed %row
  scf.if %changed {
    %x = vector.load %a[%row, %c0] : memref<?x16xi32>, vector<16xi32>
    vector.store %x, %shared[%c0, %c0] : memref<1x16xi32, strided<[16, 1]>, #gpu.address_space<workgroup>>, vector<16xi32>
  }
  %l = vector.load %shared[%c0, %c0] : memref<1x16xi32, strided<[16, 1]>, #gpu.address_space<workgroup>>, vector<16xi32>
  %r = vector.load %b[%row, %c0] : memref<?x16xi32>, vector<16xi32>
  %d = tile.integer_dot %r, %l, %r bits 8 : vector<16xi32>
  vector.store %d, %b[%row, %c0] : memref<?x16xi32>, vector<16xi32>
  tile.return
}

// Integers of 16 bits: an instruction has no accumulator.
// CHECK-LABEL: llvm.func @pairs
// CHECK: %[[LEFT:.*]] = llvm.bitcast %[[L:.*]] : vector<8xi32> to vector<16xi16>
// CHECK: %[[RIGHT:.*]] = llvm.bitcast %[[R:.*]] : vector<8xi32> to vector<16xi16>
// CHECK: %[[PRODUCT:.*]] = llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"(%[[LEFT]], %[[RIGHT]])
// CHECK: llvm.add %[[R]], %[[PRODUCT]] : vector<8xi32>
tile.func @pairs(%a: memref<1x8xi32>, %b: memref<1x8xi32>)
    attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 8 : i64} {
  %c0 = arith.constant 0 : index
  %l = vector.load %a[%c0, %c0] : memref<1x8xi32>, vector<8xi32>
  %r = vector.load %b[%c0, %c0] : memref<1x8xi32>, vector<8xi32>
  %d = tile.integer_dot %r, %l, %r bits 16 : vector<8xi32>
  vector.store %d, %b[%c0, %c0] : memref<1x8xi32>, vector<8xi32>
  tile.return
}

// AMX: the registers' shapes are set once, and given back at the end. A row of the memory has 20 words.
// CHECK-LABEL: llvm.func @matrices(
// CHECK: %[[SHAPES:.*]] = llvm.alloca %{{.*}} x i64 : (i64) -> !llvm.ptr
// CHECK-COUNT-8: llvm.store %{{.*}} : i64, !llvm.ptr
// CHECK: llvm.call_intrinsic "llvm.x86.ldtilecfg"(%[[SHAPES]])
// CHECK-DAG: %[[NUMBER:.*]] = llvm.mlir.constant(5 : i8) : i8
// CHECK-DAG: %[[BYTES:.*]] = llvm.mlir.constant(80 : i64) : i64
// CHECK: llvm.call_intrinsic "llvm.x86.tileloadd64"(%[[NUMBER]], %{{.*}}, %[[BYTES]]) : (i8, !llvm.ptr, i64)
// CHECK: %[[SUMS:.*]] = llvm.mlir.constant(0 : i8) : i8
// CHECK: %[[LEFT:.*]] = llvm.mlir.constant(5 : i8) : i8
// CHECK: %[[RIGHT:.*]] = llvm.mlir.constant(6 : i8) : i8
// CHECK: llvm.call_intrinsic "llvm.x86.tdpbf16ps"(%[[SUMS]], %[[LEFT]], %[[RIGHT]]) : (i8, i8, i8)
// CHECK: llvm.call_intrinsic "llvm.x86.tilestored64"
// CHECK: llvm.call_intrinsic "llvm.x86.tilerelease"
// CHECK-NEXT: llvm.return
tile.func @matrices(%m: memref<?x20xi32>) attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 16 : i64} {
  %row = gpu.block_id x
  %c0 = arith.constant 0 : index
  tile.matrix_load 5, %m[%row, %c0] : memref<?x20xi32>
  tile.matrix_dot 0, 5, 6
  tile.matrix_store 0, %m[%row, %c0] : memref<?x20xi32>
  tile.return
}

// A kernel that only moves matrices sets the registers' shapes as well.
// CHECK-LABEL: llvm.func @moves(
// CHECK: llvm.call_intrinsic "llvm.x86.ldtilecfg"
// CHECK: llvm.call_intrinsic "llvm.x86.tileloadd64"
// CHECK: llvm.call_intrinsic "llvm.x86.tilestored64"
// CHECK: llvm.call_intrinsic "llvm.x86.tilerelease"
tile.func @moves(%m: memref<?x20xi32>) attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 16 : i64} {
  %row = gpu.block_id x
  %c0 = arith.constant 0 : index
  tile.matrix_load 5, %m[%row, %c0] : memref<?x20xi32>
  tile.matrix_store 5, %m[%row, %c0] : memref<?x20xi32>
  tile.return
}
