// A thread's matmuls of bytes: the left operand is split into digits, the right operand's words are turned.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-lower-to-lanes,canonicalize,cse))' --split-input-file | FileCheck %s

#vectors = #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 16>

// Three digits of 7 bits; the first has the sign. Integers of 8 bits in a word are those of neighbouring columns.
// CHECK-LABEL: tile.func @digits
// CHECK-SAME: %[[NUMBERS:.*]]: memref<2x16xi32>, %[[MEMORY:.*]]: memref<?x4xi32>, %[[ROW:.*]]: index
// CHECK-DAG: %[[C14:.*]] = arith.constant dense<14> : vector<16xi32>
// CHECK-DAG: %[[C7:.*]] = arith.constant dense<7> : vector<16xi32>
// CHECK-DAG: %[[MASK:.*]] = arith.constant dense<127> : vector<16xi32>
// CHECK: %[[X:.*]] = vector.load %[[NUMBERS]][%c0, %c0]
// CHECK: %[[Y:.*]] = vector.load %[[NUMBERS]][%c1, %c0]
// CHECK: %[[TOP:.*]] = arith.shrsi %[[X]], %[[C14]]
// CHECK: %[[BYTES:.*]] = arith.trunci %[[TOP]] : vector<16xi32> to vector<16xi8>
// CHECK: %[[WORDS:.*]] = vector.bitcast %[[BYTES]] : vector<16xi8> to vector<4xi32>
// CHECK: vector.store %[[WORDS]], %[[MEMORY]][%[[ROW]], %c0]
// CHECK: arith.shrsi %[[Y]], %[[C14]]
// CHECK: %[[MIDDLE:.*]] = arith.shrsi %[[X]], %[[C7]]
// CHECK: arith.andi %[[MIDDLE]], %[[MASK]]
// CHECK: %[[THIRD:.*]] = arith.addi %[[ROW]], %c2
// CHECK: vector.store %{{.*}}, %[[MEMORY]][%[[THIRD]], %c0]
// CHECK: arith.andi %[[X]], %[[MASK]]
tile.func @digits(%a: memref<2x16xi32>, %m: memref<?x4xi32>, %row: index)
    attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 16 : i64} {
  %c0 = arith.constant 0 : index
  %x = tile.load %a[%c0, %c0] : memref<2x16xi32> -> tensor<2x16xi32, #vectors>
  tile.store_digits %x, %m[%row] packed 8 : tensor<2x16xi32, #vectors>, memref<?x4xi32>
  tile.return
}

// -----

#vectors = #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 16>

// Integers of 4 bits: the even ones of a word are in one word of bytes, the odd ones in the next.
// CHECK-LABEL: tile.func @digits_of_nibbles
// CHECK: vector.shuffle %{{.*}} [0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15] : vector<16xi8>, vector<16xi8>
tile.func @digits_of_nibbles(%a: memref<1x16xi32>, %m: memref<?x4xi32>, %row: index)
    attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 16 : i64} {
  %c0 = arith.constant 0 : index
  %x = tile.load %a[%c0, %c0] : memref<1x16xi32> -> tensor<1x16xi32, #vectors>
  tile.store_digits %x, %m[%row] packed 4 : tensor<1x16xi32, #vectors>, memref<?x4xi32>
  tile.return
}

// -----

#vectors = #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 16>

// Four words of four rows each: each group of four elements is turned by itself, then the groups are gathered.
// CHECK-LABEL: tile.func @turn
// CHECK: %[[W:.*]] = vector.load %arg0[%c0, %c0]
// CHECK: %[[B:.*]] = vector.bitcast %[[W]] : vector<16xi32> to vector<64xi8>
// CHECK: %[[T:.*]] = vector.shuffle %[[B]], %[[B]] [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15, 16, 20,
// CHECK: %[[P0:.*]] = vector.bitcast %[[T]] : vector<64xi8> to vector<16xi32>
// CHECK: %[[LOW:.*]] = vector.shuffle %[[P0]], %[[P1:.*]] [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23]
// CHECK: %[[HIGH:.*]] = vector.shuffle %{{.*}}, %{{.*}} [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23]
// CHECK: vector.shuffle %[[LOW]], %[[HIGH]] [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27]
// CHECK: vector.shuffle %[[LOW]], %[[HIGH]] [4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31]
// CHECK: [8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31]
tile.func @turn(%a: memref<4x16xi32>, %b: memref<4x16xi32>)
    attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 16 : i64} {
  %c0 = arith.constant 0 : index
  %w = tile.load %a[%c0, %c0] : memref<4x16xi32> -> tensor<4x16xi32, #vectors>
  %t = tile.turn_bytes %w packed 8 : tensor<4x16xi32, #vectors> -> tensor<4x16xi32, #vectors>
  tile.store %t, %b[%c0, %c0] : tensor<4x16xi32, #vectors>, memref<4x16xi32>
  tile.return
}

// -----

#vectors = #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 16>

// Integers of 4 bits: even rows and odd rows of a word are bytes of their own, and change places at the end.
// CHECK-LABEL: tile.func @turn_nibbles
// CHECK-DAG: %[[LOWEST:.*]] = arith.constant dense<252645135> : vector<16xi32>
// CHECK-DAG: %[[C4:.*]] = arith.constant dense<4> : vector<16xi32>
// CHECK: arith.andi %{{.*}}, %[[LOWEST]]
// CHECK: %[[ODD:.*]] = arith.shrui %{{.*}}, %[[C4]]
// CHECK: arith.andi %[[ODD]], %[[LOWEST]]
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [0, 8, 1, 9, 2, 10, 3, 11, 16, 24, 17, 25, 18, 26, 19, 27]
tile.func @turn_nibbles(%a: memref<2x16xi32>, %b: memref<4x16xi32>)
    attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 16 : i64} {
  %c0 = arith.constant 0 : index
  %w = tile.load %a[%c0, %c0] : memref<2x16xi32> -> tensor<2x16xi32, #vectors>
  %t = tile.turn_bytes %w packed 4 : tensor<2x16xi32, #vectors> -> tensor<4x16xi32, #vectors>
  tile.store %t, %b[%c0, %c0] : tensor<4x16xi32, #vectors>, memref<4x16xi32>
  tile.return
}

// -----

#numbers = #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 1>
#vectors = #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 16>

// CHECK-LABEL: tile.func @dot
// CHECK: %[[CHANGED:.*]] = tile.changed %arg3
// CHECK: scf.if %[[CHANGED]]
// CHECK: %[[L:.*]] = memref.load %arg0
// CHECK: %[[R:.*]] = vector.load %arg1
// CHECK: %[[S:.*]] = vector.load %arg2
// CHECK: %[[REPEATED:.*]] = vector.broadcast %[[L]] : i32 to vector<16xi32>
// CHECK: tile.byte_dot %[[S]], %[[REPEATED]], %[[R]] : vector<16xi32>
tile.func @dot(%a: memref<1x1xi32>, %b: memref<1x16xi32>, %c: memref<1x16xi32>, %row: index)
    attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 16 : i64} {
  %c0 = arith.constant 0 : index
  %changed = tile.changed %row
  scf.if %changed {
    %none = arith.constant dense<0> : tensor<1x16xi32, #vectors>
    tile.store %none, %c[%c0, %c0] : tensor<1x16xi32, #vectors>, memref<1x16xi32>
  }
  %l = tile.load %a[%c0, %c0] : memref<1x1xi32> -> tensor<1x1xi32, #numbers>
  %r = tile.load %b[%c0, %c0] : memref<1x16xi32> -> tensor<1x16xi32, #vectors>
  %s = tile.load %c[%c0, %c0] : memref<1x16xi32> -> tensor<1x16xi32, #vectors>
  %d = tile.dot %l, %r, %s : tensor<1x1xi32, #numbers>, tensor<1x16xi32, #vectors> -> tensor<1x16xi32, #vectors>
  tile.store %d, %c[%c0, %c0] : tensor<1x16xi32, #vectors>, memref<1x16xi32>
  tile.return
}
