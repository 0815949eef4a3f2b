// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-lower-to-lanes,canonicalize,cse))' | FileCheck %s

#sums = #tile.fragment<subgroups = 2, rows = 8>
#right = #tile.fragment<subgroups = 1, rows = 8>
#wide = #tile.fragment<subgroups = 2, rows = 16>
#each = #tile.simt<lanes = [2, 4], strides = [32, 1], vector = 2>

// Two subgroups: a lane has two of 32 rows. Together with those of the other lanes they make the instruction's 16 rows.
// It has eight columns in four runs. Two ldmatrix, each of four 8 x 8 matrices, load the K extent of four instructions.
// CHECK-LABEL: tile.func @product
tile.func @product(%c: memref<32x16xf32>) attributes {workgroup = 64 : i64, subgroup = 32 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<32x16xf32, #sums>
  // CHECK: %[[A:.*]] = tile.shared : memref<32x16xbf16, #gpu
  // CHECK: %[[B:.*]] = tile.shared : memref<16x16xbf16, #gpu
  %a = tile.shared : memref<32x16xbf16, #tile.swizzled, #gpu.address_space<workgroup>>
  %b = tile.shared : memref<16x16xbf16, #tile.swizzled, #gpu.address_space<workgroup>>
  // CHECK: %[[LEFT:.*]] = nvgpu.ldmatrix %[[A]]{{.*}} {numTiles = 4 : i32, transpose = false} : {{.*}} -> vector<4x2xbf16>
  %x = tile.load %a[%c0, %c0] : memref<32x16xbf16, #tile.swizzled, #gpu.address_space<workgroup>> -> tensor<32x16xbf16, #sums>
  // CHECK: %[[RIGHT:.*]] = nvgpu.ldmatrix %[[B]]{{.*}} {numTiles = 4 : i32, transpose = true} : {{.*}} -> vector<4x2xbf16>
  %y = tile.load %b[%c0, %c0] {transposed} : memref<16x16xbf16, #tile.swizzled, #gpu.address_space<workgroup>> -> tensor<16x16xbf16, #right>
  // Registers of one instruction are loaded together, so no move is needed.
  // CHECK: %[[FIRST:.*]] = vector.extract %[[RIGHT]][0]
  // CHECK: %[[SECOND:.*]] = vector.extract %[[RIGHT]][1]
  // CHECK-DAG: %[[PARTS:.*]]:2 = vector.to_elements %[[FIRST]]
  // CHECK-DAG: %[[MORE:.*]]:2 = vector.to_elements %[[SECOND]]
  // CHECK: %[[OPERAND:.*]] = vector.from_elements %[[PARTS]]#0, %[[PARTS]]#1, %[[MORE]]#0, %[[MORE]]#1
  // CHECK: nvgpu.mma.sync(%{{.*}}, %[[OPERAND]], %{{.*}}) {mmaShape = [16, 8, 16]} : (vector<4x2xbf16>, vector<2x2xbf16>, vector<2x2xf32>) -> vector<2x2xf32>
  // CHECK: nvgpu.mma.sync
  // CHECK-NOT: nvgpu.mma.sync
  %p = tile.dot %x, %y, %zero {transpose_rhs} : tensor<32x16xbf16, #sums>, tensor<16x16xbf16, #right> -> tensor<32x16xf32, #sums>
  // A row is summed over four lanes.
  // CHECK: gpu.shuffle {{.*}}xor
  %s = tile.reduce sum %p dim 1 : tensor<32x16xf32, #sums> -> tensor<32x1xf32, #sums>
  %t = tile.broadcast %s : tensor<32x1xf32, #sums> -> tensor<32x16xf32, #sums>
  // CHECK-COUNT-4: vector.store {{.*}} : memref<32x16xf32>, vector<2xf32>
  tile.store %t, %c[%c0, %c0] : tensor<32x16xf32, #sums>, memref<32x16xf32>
  tile.return
}

// Each subgroup has 16 neighbouring rows: lane l of subgroup w has rows 16 w + l / 4 and 16 w + l / 4 + 8.
// CHECK-LABEL: tile.func @pairs
tile.func @pairs(%c: memref<32x8xf32>) attributes {workgroup = 64 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64, subgroup = 32 : i64} {
  %c0 = arith.constant 0 : index
  // CHECK: %[[LANE:.*]] = gpu.thread_id x
  // CHECK: %[[ROW:.*]] = arith.divui %[[LANE]], %c4
  // CHECK: %[[PIECE:.*]] = arith.divui %[[ROW]], %c8
  // CHECK: %[[APART:.*]] = arith.muli %[[PIECE]], %c8
  // CHECK: %[[FIRST:.*]] = arith.addi %[[ROW]], %[[APART]]
  // CHECK: %[[SECOND:.*]] = arith.addi %[[FIRST]], %c8
  // CHECK: vector.load %{{.*}}[%[[FIRST]], %{{.*}}] : memref<32x8xf32>
  // CHECK: vector.load %{{.*}}[%[[SECOND]], %{{.*}}] : memref<32x8xf32>
  %x = tile.load %c[%c0, %c0] : memref<32x8xf32> -> tensor<32x8xf32, #wide>
  %y = math.exp %x : tensor<32x8xf32, #wide>
  tile.store %y, %c[%c0, %c0] : tensor<32x8xf32, #wide>, memref<32x8xf32>
  tile.return
}

// Each subgroup adds up its rows: a lane its two, and then those of eight lanes. The first four lanes of a subgroup write its row.
// CHECK-LABEL: tile.func @subgroups
tile.func @subgroups(%x: memref<32x8xf32>, %y: memref<64x8xf32>) attributes {workgroup = 64 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64, subgroup = 32 : i64} {
  %c0 = arith.constant 0 : index
  %c6 = arith.constant 6 : index
  // CHECK: %[[LANE:.*]] = gpu.thread_id x
  // CHECK: %[[SUBGROUP:.*]] = arith.divui %[[LANE]], %c32
  // CHECK: %[[OWN:.*]] = arith.addf
  // CHECK-DAG: gpu.shuffle xor %{{.*}}, %c4_i32, %c32_i32 : f32
  // CHECK-DAG: gpu.shuffle xor %{{.*}}, %c8_i32, %c32_i32 : f32
  // CHECK-DAG: gpu.shuffle xor %{{.*}}, %c16_i32, %c32_i32 : f32
  // CHECK-NOT: gpu.barrier
  // CHECK: %[[ROW:.*]] = arith.addi %[[SUBGROUP]], %c6
  // CHECK: arith.cmpi eq, %[[LANE]],
  // CHECK: scf.if
  // CHECK: vector.store %{{.*}}, %arg1[%[[ROW]], %{{.*}}] : memref<64x8xf32>, vector<2xf32>
  %t = tile.load %x[%c0, %c0] : memref<32x8xf32> -> tensor<32x8xf32, #wide>
  %s = tile.reduce sum %t dim 0 : tensor<32x8xf32, #wide> -> tensor<2x8xf32, #each>
  tile.store %s, %y[%c6, %c0] : tensor<2x8xf32, #each>, memref<64x8xf32>
  tile.return
}

// The second half of the columns: a lane's registers for them.
// CHECK-LABEL: tile.func @columns
tile.func @columns(%x: memref<32x32xf32>, %y: memref<32x16xf32>) attributes {workgroup = 64 : i64, subgroup = 32 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %c0 = arith.constant 0 : index
  // CHECK-COUNT-2: vector.load
  // CHECK-DAG: %[[A:.*]] = vector.load
  // CHECK-DAG: %[[B:.*]] = vector.load
  %0 = tile.load %x[%c0, %c0] : memref<32x32xf32> -> tensor<32x32xf32, #sums>
  %1 = tile.columns %0 from 16 : tensor<32x32xf32, #sums> -> tensor<32x16xf32, #sums>
  // CHECK: vector.store %[[A]], %{{.*}} : memref<32x16xf32>
  // CHECK: vector.store %[[B]], %{{.*}} : memref<32x16xf32>
  tile.store %1, %y[%c0, %c0] : tensor<32x16xf32, #sums>, memref<32x16xf32>
  tile.return
}

// In f32 an instruction has a K extent of eight. The two neighbouring columns of each lane are in two registers.
// CHECK-LABEL: tile.func @tensor_float
tile.func @tensor_float(%a: memref<16x16xf32>, %b: memref<8x16xf32>, %c: memref<16x8xf32>)
    attributes {workgroup = 32 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<16x8xf32, #right>
  // CHECK-COUNT-4: vector.load %{{.*}} : memref<16x16xf32>, vector<2xf32>
  %x = tile.load %a[%c0, %c0] : memref<16x16xf32> -> tensor<16x16xf32, #right>
  // CHECK-COUNT-2: vector.load %{{.*}} : memref<8x16xf32>, vector<2xf32>
  %y = tile.load %b[%c0, %c0] : memref<8x16xf32> -> tensor<8x16xf32, #right>
  // CHECK-COUNT-2: nvgpu.mma.sync({{.*}}) {mmaShape = [16, 8, 8], tf32Enabled} : (vector<4x1xf32>, vector<2x1xf32>, vector<2x2xf32>) -> vector<2x2xf32>
  // CHECK-NOT: nvgpu.mma.sync
  %p = tile.dot %x, %y, %zero {transpose_rhs} : tensor<16x16xf32, #right>, tensor<8x16xf32, #right> -> tensor<16x8xf32, #right>
  tile.store %p, %c[%c0, %c0] : tensor<16x8xf32, #right>, memref<16x8xf32>
  tile.return
}

// 64 lanes copy 32 rows of two groups of eight columns, one group each, and write zeros for missing rows. A copy of
// zero bytes reads nothing, so its address may be any.
// CHECK-LABEL: tile.func @copy
tile.func @copy(%a: memref<?x16xbf16>, %n: index) attributes {workgroup = 64 : i64, subgroup = 32 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %ring = tile.shared : memref<64x16xbf16, #tile.swizzled, #gpu.address_space<workgroup>>
  // CHECK: %[[INSIDE:.*]] = arith.cmpi slt, %[[ROW:.*]], %{{.*}} : index
  // CHECK: %[[COUNT:.*]] = arith.select %[[INSIDE]], %c8, %c0
  // CHECK: arith.xori
  // CHECK: nvgpu.device_async_copy %{{.*}}[%[[ROW]], %{{.*}}], %{{.*}}[%{{.*}}, %{{.*}}], 8, %[[COUNT]] {bypassL1}
  // CHECK-NOT: nvgpu.device_async_copy
  tile.copy %a[%c16, %c0] rows(%n) to %ring[%c0] count 32 : memref<?x16xbf16> to memref<64x16xbf16, #tile.swizzled, #gpu.address_space<workgroup>>
  // CHECK: nvvm.cp.async.commit.group
  tile.commit
  // CHECK: nvvm.cp.async.wait.group 0
  // CHECK: gpu.barrier
  tile.wait 0
  tile.return
}

// A column of numbers: each lane copies one, through the caches. It is read as a row.
// CHECK-LABEL: tile.func @copy_column
tile.func @copy_column(%a: memref<?x4xf32>, %n: index, %y: memref<1x16xf32>)
    attributes {workgroup = 64 : i64, subgroup = 32 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %ring = tile.shared : memref<16x1xf32, #gpu.address_space<workgroup>>
  // CHECK: %[[FEW:.*]] = arith.cmpi slt, %[[LANE:.*]], %c16
  // CHECK: scf.if %[[FEW]]
  // CHECK: %[[COUNT:.*]] = arith.select %{{.*}}, %c1, %c0
  // CHECK: nvgpu.device_async_copy %{{.*}}[%{{.*}}, %c3], %{{.*}}[%[[LANE]], %c0], 1, %[[COUNT]] : memref<?x4xf32>
  tile.copy %a[%c0, %c3] rows(%n) to %ring[%c0] count 16 : memref<?x4xf32> to memref<16x1xf32, #gpu.address_space<workgroup>>
  tile.commit
  tile.wait 0
  // CHECK-COUNT-4: memref.load %{{.*}} : memref<16x1xf32, #gpu.address_space<workgroup>>
  %row = tile.load %ring[%c0, %c0] {any_padding, transposed} : memref<16x1xf32, #gpu.address_space<workgroup>> -> tensor<1x16xf32, #right>
  tile.store %row, %y[%c0, %c0] : tensor<1x16xf32, #right>, memref<1x16xf32>
  tile.return
}

// The lane's groups of eight columns differ by one bit, so addresses are the first one plus constants.
// CHECK-LABEL: tile.func @groups
tile.func @groups(%c: memref<16x8xf32>) attributes {workgroup = 32 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<16x16xf32, #right>
  %x = tile.shared : memref<16x128xbf16, #tile.swizzled, #gpu.address_space<workgroup>>
  // CHECK: %[[GROUP:.*]] = arith.xori
  // CHECK-NEXT: %[[FIRST:.*]] = arith.muli %[[GROUP]], %c8
  // CHECK: nvgpu.ldmatrix %{{.*}}[%{{.*}}, %[[FIRST]]]
  // CHECK: %[[SECOND:.*]] = arith.xori %[[FIRST]], %c16
  // CHECK: nvgpu.ldmatrix %{{.*}}[%{{.*}}, %[[SECOND]]]
  // CHECK: arith.xori %[[FIRST]], %c32
  // CHECK: arith.xori %[[FIRST]], %c48
  // CHECK: %[[HALF:.*]] = arith.addi %[[FIRST]], %c64
  // CHECK: nvgpu.ldmatrix %{{.*}}[%{{.*}}, %[[HALF]]]
  %a = tile.load %x[%c0, %c0] : memref<16x128xbf16, #tile.swizzled, #gpu.address_space<workgroup>> -> tensor<16x128xbf16, #right>
  %p = tile.dot %a, %a, %zero {transpose_rhs} : tensor<16x128xbf16, #right>, tensor<16x128xbf16, #right> -> tensor<16x16xf32, #right>
  %q = tile.columns %p from 0 : tensor<16x16xf32, #right> -> tensor<16x8xf32, #right>
  tile.store %q, %c[%c0, %c0] : tensor<16x8xf32, #right>, memref<16x8xf32>
  tile.return
}
