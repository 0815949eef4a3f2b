// A thread's program, in vectors of 4, 8 and 16.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-lower-to-lanes,canonicalize))' | FileCheck %s

#number = #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 1>
#four = #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 4>
#eight = #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 8>
#sixteen = #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 16>

// Numbers keep their bits' places. Flipping the sign bit makes a signed number unsigned. Only the last one is shifted
// down.
// CHECK-LABEL: tile.func @inPlace
// CHECK: %[[WORD:.*]] = vector.load
// CHECK: %[[BIASED:.*]] = arith.xori %[[WORD]], %{{.*}} : vector<4xi32>
// CHECK-COUNT-3: arith.andi
// CHECK: arith.shrsi %[[WORD]], %{{.*}} : vector<4xi32>
// CHECK: tile.return
tile.func @inPlace(%words: memref<8x4xi32>, %out: memref<64x4xi32>)
    attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %w = tile.load %words[%c0, %c0] {packed = 8, in_place} : memref<8x4xi32> -> tensor<4x4xi32, #four>
  tile.store %w, %out[%c0, %c0] : tensor<4x4xi32, #four>, memref<64x4xi32>
  tile.return
}

// A table of two vectors: each element is looked up in both halves, and the number selects one.
// CHECK-LABEL: tile.func @lookup
// CHECK: %[[NUMBERS:.*]] = vector.load %arg0
// CHECK: %[[IN_HALF:.*]] = arith.andi %[[NUMBERS]], %{{.*}} : vector<8xi32>
// CHECK: %[[LOW:.*]] = vector.load %arg1[%c0, %c0] : memref<1x16xf32>, vector<8xf32>
// CHECK: %[[NUMBER:.*]] = vector.extract %[[IN_HALF]][0]
// CHECK: %[[INDEX:.*]] = arith.index_cast %[[NUMBER]] : i32 to index
// CHECK: vector.extract %[[LOW]][%[[INDEX]]] : f32 from vector<8xf32>
// CHECK: %[[OF_LOW:.*]] = vector.from_elements
// CHECK: %[[HIGH:.*]] = vector.load %arg1[%c0, %c8] : memref<1x16xf32>, vector<8xf32>
// CHECK: %[[OF_HIGH:.*]] = vector.from_elements
// CHECK: %[[IS_LOW:.*]] = arith.cmpi slt, %[[NUMBERS]], %{{.*}} : vector<8xi32>
// CHECK: arith.select %[[IS_LOW]], %[[OF_LOW]], %[[OF_HIGH]]
// Vectors of 4 are too short.
// CHECK: vector.load %arg0[{{.*}} : memref<64x8xi32>, vector<4xi32>
// CHECK-COUNT-4: memref.load %arg1
// CHECK: tile.return
tile.func @lookup(%numbers: memref<64x8xi32>, %table: memref<1x16xf32>, %out: memref<64x8xf32>)
    attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 8 : i64} {
  %c0 = arith.constant 0 : index
  %n = tile.load %numbers[%c0, %c0] : memref<64x8xi32> -> tensor<1x8xi32, #eight>
  %x = tile.lookup %table[%n] : memref<1x16xf32>, tensor<1x8xi32, #eight> -> tensor<1x8xf32, #eight>
  tile.store %x, %out[%c0, %c0] : tensor<1x8xf32, #eight>, memref<64x8xf32>
  %few = tile.load %numbers[%c0, %c0] : memref<64x8xi32> -> tensor<1x4xi32, #four>
  %y = tile.lookup %table[%few] : memref<1x16xf32>, tensor<1x4xi32, #four> -> tensor<1x4xf32, #four>
  tile.store %y, %out[%c0, %c0] : tensor<1x4xf32, #four>, memref<64x8xf32>
  tile.return
}

// A row's vectors are combined first, then its elements, with the same shuffles as four rows.
// CHECK-LABEL: tile.func @reduce
// CHECK: %[[X:.*]] = vector.load %arg0
// CHECK: %[[Y:.*]] = vector.load %arg0
// CHECK: %[[ROW:.*]] = arith.addf %[[X]], %[[Y]] : vector<8xf32>
// CHECK: vector.shuffle %[[ROW]], %[[ROW]] [0, 8, 1, 9, 4, 12, 5, 13]
// CHECK: vector.shuffle %[[ROW]], %[[ROW]] [2, 10, 3, 11, 6, 14, 7, 15]
// CHECK: arith.addf {{.*}} : vector<8xf32>
// CHECK: %[[PARTS:.*]] = arith.addf {{.*}} : vector<8xf32>
// CHECK: vector.shuffle %[[PARTS]], %[[PARTS]] [0, 1, 2, 3]
// CHECK: vector.shuffle %[[PARTS]], %[[PARTS]] [4, 5, 6, 7]
// CHECK: %[[ALL:.*]] = arith.addf {{.*}} : vector<4xf32>
// CHECK: vector.extract %[[ALL]][0]
// CHECK-NOT: arith.addf
// CHECK: tile.return
tile.func @reduce(%a: memref<1x16xf32>, %b: memref<1x1xf32>) attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 8 : i64} {
  %c0 = arith.constant 0 : index
  %x = tile.load %a[%c0, %c0] : memref<1x16xf32> -> tensor<1x16xf32, #eight>
  %sum = tile.reduce sum %x dim 1 : tensor<1x16xf32, #eight> -> tensor<1x1xf32, #number>
  tile.store %sum, %b[%c0, %c0] : tensor<1x1xf32, #number>, memref<1x1xf32>
  tile.return
}

// Four rows share shuffles within 128 bits. The last of seven rows also takes the place of an eighth.
// CHECK-LABEL: tile.func @reduceRows
// CHECK: %[[ROW0:.*]] = vector.load %arg0
// CHECK: %[[ROW1:.*]] = vector.load %arg0
// CHECK: vector.shuffle %[[ROW0]], %[[ROW1]] [0, 8, 1, 9, 4, 12, 5, 13]
// CHECK: vector.shuffle %[[ROW0]], %[[ROW1]] [2, 10, 3, 11, 6, 14, 7, 15]
// CHECK: %[[PAIR0:.*]] = arith.maxnumf
// CHECK: %[[PAIR1:.*]] = arith.maxnumf
// CHECK: vector.shuffle %[[PAIR0]], %[[PAIR1]] [0, 1, 8, 9, 4, 5, 12, 13]
// CHECK: vector.shuffle %[[PAIR0]], %[[PAIR1]] [2, 3, 10, 11, 6, 7, 14, 15]
// CHECK: %[[PARTS:.*]] = arith.maxnumf {{.*}} : vector<8xf32>
// CHECK: vector.shuffle %[[PARTS]], %[[PARTS]] [0, 1, 2, 3]
// CHECK: %[[FOUR:.*]] = arith.maxnumf {{.*}} : vector<4xf32>
// CHECK: vector.extract %[[FOUR]][0]
// CHECK: vector.extract %[[FOUR]][3]
// CHECK: arith.maxnumf {{.*}} : vector<8xf32>
// CHECK: vector.shuffle %[[LAST:.*]], %[[LAST]] [0, 8, 1, 9, 4, 12, 5, 13]
// CHECK: %[[THREE:.*]] = arith.maxnumf {{.*}} : vector<4xf32>
// CHECK: vector.extract %[[THREE]][2]
// CHECK-NOT: vector.extract
// CHECK: tile.return
tile.func @reduceRows(%a: memref<7x8xf32>, %b: memref<7x1xf32>) attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 8 : i64} {
  %c0 = arith.constant 0 : index
  %x = tile.load %a[%c0, %c0] : memref<7x8xf32> -> tensor<7x8xf32, #eight>
  %largest = tile.reduce max %x dim 1 : tensor<7x8xf32, #eight> -> tensor<7x1xf32, #number>
  tile.store %largest, %b[%c0, %c0] : tensor<7x1xf32, #number>, memref<7x1xf32>
  tile.return
}

// A thread's columns are adjacent: the indices of a register are its first index plus a constant vector.
// CHECK-LABEL: tile.func @index
// CHECK: %[[STEPS:.*]] = arith.constant dense<[0, 1, 2, 3]> : vector<4xi32>
// CHECK: %[[BASE:.*]] = arith.index_cast %{{.*}} : index to i32
// CHECK: %[[FIRST:.*]] = vector.broadcast %[[BASE]] : i32 to vector<4xi32>
// CHECK: arith.addi %[[FIRST]], %[[STEPS]]
// CHECK-NOT: vector.from_elements
// CHECK: tile.return
tile.func @index(%a: memref<1x8xi32>) attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %k = gpu.block_id y
  %numbers = tile.index %k dim 1 : tensor<1x8xi32, #four>
  tile.store %numbers, %a[%c0, %c0] : tensor<1x8xi32, #four>, memref<1x8xi32>
  tile.return
}

// A constant's elements may differ if a thread has the whole tile.
// CHECK-LABEL: tile.func @constant
// CHECK-DAG: %[[LOW:.*]] = arith.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : vector<4xf32>
// CHECK-DAG: %[[HIGH:.*]] = arith.constant dense<[5.000000e+00, 6.000000e+00, 7.000000e+00, 8.000000e+00]> : vector<4xf32>
// CHECK: vector.store %[[LOW]], %arg0[%{{.*}}, %c0]
// CHECK: vector.store %[[HIGH]], %arg0[%{{.*}}, %c4]
tile.func @constant(%a: memref<1x8xf32>) attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %numbers = arith.constant dense<[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]]> : tensor<1x8xf32, #four>
  tile.store %numbers, %a[%c0, %c0] : tensor<1x8xf32, #four>, memref<1x8xf32>
  tile.return
}

// A transposed right side is transposed in registers. First pairs of rows are interleaved, then pairs of pairs.
// Register k then has column k, which is multiplied by element k of each row of the left side.
// CHECK-LABEL: tile.func @by4
tile.func @by4(%a: memref<2x4xf32>, %b: memref<4x4xf32>, %c: memref<2x4xf32>)
    attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  // CHECK: %[[A00:.*]] = memref.load %arg0
  // CHECK-COUNT-3: memref.load %arg0
  // CHECK: %[[A10:.*]] = memref.load %arg0
  // CHECK-COUNT-3: memref.load %arg0
  // CHECK: %[[R0:.*]] = vector.load %arg1
  // CHECK: %[[R1:.*]] = vector.load %arg1
  // CHECK: %[[R2:.*]] = vector.load %arg1
  // CHECK: %[[R3:.*]] = vector.load %arg1
  // CHECK: %[[LOW0:.*]] = vector.shuffle %[[R0]], %[[R1]] [0, 4, 1, 5]
  // CHECK: %[[HIGH0:.*]] = vector.shuffle %[[R0]], %[[R1]] [2, 6, 3, 7]
  // CHECK: %[[LOW1:.*]] = vector.shuffle %[[R2]], %[[R3]] [0, 4, 1, 5]
  // CHECK: %[[HIGH1:.*]] = vector.shuffle %[[R2]], %[[R3]] [2, 6, 3, 7]
  // CHECK: %[[C0:.*]] = vector.shuffle %[[LOW0]], %[[LOW1]] [0, 1, 4, 5]
  // CHECK: %[[C1:.*]] = vector.shuffle %[[LOW0]], %[[LOW1]] [2, 3, 6, 7]
  // CHECK: %[[C2:.*]] = vector.shuffle %[[HIGH0]], %[[HIGH1]] [0, 1, 4, 5]
  // CHECK: %[[C3:.*]] = vector.shuffle %[[HIGH0]], %[[HIGH1]] [2, 3, 6, 7]
  // CHECK-NOT: vector.shuffle
  // CHECK: %[[L00:.*]] = vector.broadcast %[[A00]] : f32 to vector<4xf32>
  // CHECK: %[[S0:.*]] = math.fma %[[L00]], %[[C0]], %cst
  // CHECK: %[[L10:.*]] = vector.broadcast %[[A10]] : f32 to vector<4xf32>
  // CHECK: %[[S1:.*]] = math.fma %[[L10]], %[[C0]], %cst
  // CHECK: math.fma %{{.*}}, %[[C1]], %[[S0]]
  // CHECK: math.fma %{{.*}}, %[[C1]], %[[S1]]
  // CHECK-COUNT-2: math.fma %{{.*}}, %[[C2]], %
  // CHECK-COUNT-2: math.fma %{{.*}}, %[[C3]], %
  // CHECK-NOT: math.fma
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<2x4xf32, #four>
  %l = tile.load %a[%c0, %c0] : memref<2x4xf32> -> tensor<2x4xf32, #number>
  %r = tile.load %b[%c0, %c0] : memref<4x4xf32> -> tensor<4x4xf32, #four>
  %d = tile.dot %l, %r, %zero {transpose_rhs} : tensor<2x4xf32, #number>, tensor<4x4xf32, #four> -> tensor<2x4xf32, #four>
  tile.store %d, %c[%c0, %c0] : tensor<2x4xf32, #four>, memref<2x4xf32>
  tile.return
}

// Vectors of 8: the same within each 128 bits, then a step that exchanges halves. Each register takes three shuffles.
// CHECK-LABEL: tile.func @by8
tile.func @by8(%a: memref<1x8xf32>, %b: memref<8x8xf32>, %c: memref<1x8xf32>)
    attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 8 : i64} {
  // CHECK: %[[R0:.*]] = vector.load %arg1
  // CHECK: %[[R1:.*]] = vector.load %arg1
  // CHECK: %[[R2:.*]] = vector.load %arg1
  // CHECK: %[[R3:.*]] = vector.load %arg1
  // CHECK: %[[R4:.*]] = vector.load %arg1
  // CHECK: %[[R5:.*]] = vector.load %arg1
  // CHECK: %[[LOW0:.*]] = vector.shuffle %[[R0]], %[[R1]] [0, 8, 1, 9, 4, 12, 5, 13]
  // CHECK: vector.shuffle %[[R0]], %[[R1]] [2, 10, 3, 11, 6, 14, 7, 15]
  // CHECK: %[[LOW1:.*]] = vector.shuffle %[[R2]], %[[R3]] [0, 8, 1, 9, 4, 12, 5, 13]
  // CHECK: vector.shuffle %[[R2]], %[[R3]] [2, 10, 3, 11, 6, 14, 7, 15]
  // Columns 0 and 4 of rows 0 to 3, then 1 and 5.
  // CHECK: %[[P0:.*]] = vector.shuffle %[[LOW0]], %[[LOW1]] [0, 1, 8, 9, 4, 5, 12, 13]
  // CHECK: vector.shuffle %[[LOW0]], %[[LOW1]] [2, 3, 10, 11, 6, 7, 14, 15]
  // CHECK-COUNT-2: vector.shuffle
  // CHECK: %[[LOW2:.*]] = vector.shuffle %[[R4]], %[[R5]] [0, 8, 1, 9, 4, 12, 5, 13]
  // CHECK-COUNT-3: vector.shuffle
  // CHECK: %[[Q0:.*]] = vector.shuffle %[[LOW2]], %{{.*}} [0, 1, 8, 9, 4, 5, 12, 13]
  // CHECK-COUNT-3: vector.shuffle
  // CHECK: %[[C0:.*]] = vector.shuffle %[[P0]], %[[Q0]] [0, 1, 2, 3, 8, 9, 10, 11]
  // CHECK: %[[C4:.*]] = vector.shuffle %[[P0]], %[[Q0]] [4, 5, 6, 7, 12, 13, 14, 15]
  // CHECK-COUNT-6: vector.shuffle
  // CHECK-NOT: vector.shuffle
  // CHECK: math.fma %{{.*}}, %[[C0]], %cst
  // CHECK-COUNT-3: math.fma
  // CHECK: math.fma %{{.*}}, %[[C4]], %
  // CHECK-COUNT-3: math.fma
  // CHECK-NOT: math.fma
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<1x8xf32, #eight>
  %l = tile.load %a[%c0, %c0] : memref<1x8xf32> -> tensor<1x8xf32, #number>
  %r = tile.load %b[%c0, %c0] : memref<8x8xf32> -> tensor<8x8xf32, #eight>
  %d = tile.dot %l, %r, %zero {transpose_rhs} : tensor<1x8xf32, #number>, tensor<8x8xf32, #eight> -> tensor<1x8xf32, #eight>
  tile.store %d, %c[%c0, %c0] : tensor<1x8xf32, #eight>, memref<1x8xf32>
  tile.return
}

// Vectors of 16: 16 registers take four steps.
// CHECK-LABEL: tile.func @by16
tile.func @by16(%a: memref<1x16xf32>, %b: memref<16x16xf32>, %c: memref<1x16xf32>)
    attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 16 : i64} {
  // CHECK: vector.shuffle %{{.*}} [0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29]
  // CHECK-COUNT-31: vector.shuffle
  // CHECK: %[[UPPER:.*]] = vector.shuffle %{{.*}} [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23]
  // CHECK: %[[LOWER:.*]] = vector.shuffle %{{.*}} [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23]
  // CHECK: %[[C0:.*]] = vector.shuffle %[[UPPER]], %[[LOWER]] [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27]
  // CHECK: %[[C4:.*]] = vector.shuffle %[[UPPER]], %[[LOWER]] [4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31]
  // CHECK: vector.shuffle %{{.*}} [8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31]
  // CHECK-COUNT-27: vector.shuffle
  // CHECK-NOT: vector.shuffle
  // CHECK: math.fma %{{.*}}, %[[C0]], %cst
  // CHECK-COUNT-3: math.fma
  // CHECK: math.fma %{{.*}}, %[[C4]], %
  // CHECK-COUNT-11: math.fma
  // CHECK-NOT: math.fma
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<1x16xf32, #sixteen>
  %l = tile.load %a[%c0, %c0] : memref<1x16xf32> -> tensor<1x16xf32, #number>
  %r = tile.load %b[%c0, %c0] : memref<16x16xf32> -> tensor<16x16xf32, #sixteen>
  %d = tile.dot %l, %r, %zero {transpose_rhs} : tensor<1x16xf32, #number>, tensor<16x16xf32, #sixteen> -> tensor<1x16xf32, #sixteen>
  tile.store %d, %c[%c0, %c0] : tensor<1x16xf32, #sixteen>, memref<1x16xf32>
  tile.return
}

// A right side that is no multiple of square vectors stays as it is: scalar products.
// CHECK-LABEL: tile.func @no_square
// CHECK-NOT: vector.shuffle
// CHECK-COUNT-8: math.fma %{{.*}} : f32
// CHECK-NOT: math.fma
tile.func @no_square(%a: memref<1x2xf32>, %b: memref<4x2xf32>, %c: memref<1x4xf32>)
    attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<1x4xf32, #four>
  %l = tile.load %a[%c0, %c0] : memref<1x2xf32> -> tensor<1x2xf32, #number>
  %r = tile.load %b[%c0, %c0] : memref<4x2xf32> -> tensor<4x2xf32, #number>
  %d = tile.dot %l, %r, %zero {transpose_rhs} : tensor<1x2xf32, #number>, tensor<4x2xf32, #number> -> tensor<1x4xf32, #four>
  tile.store %d, %c[%c0, %c0] : tensor<1x4xf32, #four>, memref<1x4xf32>
  tile.return
}
