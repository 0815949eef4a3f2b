// A thread's matmuls of integers: the left operand is split into digits, the right operand's words are turned.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-lower-to-lanes,canonicalize,cse))' --split-input-file | FileCheck %s

#vectors = #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 16>

// Two digits of 8 bits with signs: the first is rounded. Packed integers of 8 bits in a word are those of neighbouring columns.
// CHECK-LABEL: tile.func @digits
// CHECK-SAME: %[[NUMBERS:.*]]: memref<2x16xi32>, %[[MEMORY:.*]]: memref<?x4xi32>, %[[ROW:.*]]: index
// CHECK-DAG: %[[C8:.*]] = arith.constant dense<8> : vector<16xi32>
// CHECK-DAG: %[[HALF:.*]] = arith.constant dense<128> : vector<16xi32>
// CHECK: %[[X:.*]] = vector.load %[[NUMBERS]][%c0, %c0]
// CHECK: %[[Y:.*]] = vector.load %[[NUMBERS]][%c1, %c0]
// CHECK: %[[UP:.*]] = arith.addi %[[X]], %[[HALF]]
// CHECK: %[[TOP:.*]] = arith.shrsi %[[UP]], %[[C8]]
// CHECK: %[[BYTES:.*]] = arith.trunci %[[TOP]] : vector<16xi32> to vector<16xi8>
// CHECK: %[[WORDS:.*]] = vector.bitcast %[[BYTES]] : vector<16xi8> to vector<4xi32>
// CHECK: vector.store %[[WORDS]], %[[MEMORY]][%[[ROW]], %c0]
// CHECK: arith.addi %[[Y]], %[[HALF]]
// CHECK: arith.trunci %[[X]] : vector<16xi32> to vector<16xi8>
// CHECK: %[[THIRD:.*]] = arith.addi %[[ROW]], %c2
// CHECK: vector.store %{{.*}}, %[[MEMORY]][%[[THIRD]], %c0]
tile.func @digits(%a: memref<2x16xi32>, %m: memref<?x4xi32>, %row: index)
    attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 16 : i64} {
  %c0 = arith.constant 0 : index
  %x = tile.load %a[%c0, %c0] : memref<2x16xi32> -> tensor<2x16xi32, #vectors>
  tile.store_digits %x, %m[%row] bits 8 packed 8 : tensor<2x16xi32, #vectors>, memref<?x4xi32>
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
  tile.store_digits %x, %m[%row] bits 8 packed 4 : tensor<1x16xi32, #vectors>, memref<?x4xi32>
  tile.return
}

// -----

#vectors = #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 8>

// A digit of 16 bits. A word has two columns: those whose packed integers of 8 bits are two bytes apart.
// CHECK-LABEL: tile.func @digits_of_16_bits
// CHECK: %[[X:.*]] = vector.load %arg0
// CHECK: %[[SHORT:.*]] = arith.trunci %[[X]] : vector<8xi32> to vector<8xi16>
// CHECK: %[[ORDERED:.*]] = vector.shuffle %[[SHORT]], %[[SHORT]] [0, 2, 1, 3, 4, 6, 5, 7]
// CHECK: vector.bitcast %[[ORDERED]] : vector<8xi16> to vector<4xi32>
// CHECK-NOT: vector.store{{.*}}vector.store
tile.func @digits_of_16_bits(%a: memref<1x8xi32>, %m: memref<?x4xi32>, %row: index)
    attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 8 : i64} {
  %c0 = arith.constant 0 : index
  %x = tile.load %a[%c0, %c0] : memref<1x8xi32> -> tensor<1x8xi32, #vectors>
  tile.store_digits %x, %m[%row] bits 16 packed 8 : tensor<1x8xi32, #vectors>, memref<?x4xi32>
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
  %t = tile.turn_integers %w packed 8 bits 8 : tensor<4x16xi32, #vectors> -> tensor<4x16xi32, #vectors>
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
  %t = tile.turn_integers %w packed 4 bits 8 : tensor<2x16xi32, #vectors> -> tensor<4x16xi32, #vectors>
  tile.store %t, %b[%c0, %c0] : tensor<4x16xi32, #vectors>, memref<4x16xi32>
  tile.return
}

// -----

#vectors = #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 8>

// Registers of eight elements have two pieces. Bytes become integers of 16 bits: every other one in a register.
// CHECK-LABEL: tile.func @turn_to_16_bits
// CHECK-DAG: %[[BYTES:.*]] = arith.constant dense<16711935> : vector<8xi32>
// CHECK-DAG: %[[C8:.*]] = arith.constant dense<8> : vector<8xi32>
// CHECK: vector.shuffle %{{.*}} [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15, 16, 20, {{.*}}] : vector<32xi8>, vector<32xi8>
// CHECK: %[[LOW:.*]] = vector.shuffle %[[P0:.*]], %[[P1:.*]] [0, 1, 2, 3, 8, 9, 10, 11] : vector<8xi32>, vector<8xi32>
// CHECK: %[[HIGH:.*]] = vector.shuffle %[[P0]], %[[P1]] [4, 5, 6, 7, 12, 13, 14, 15] : vector<8xi32>, vector<8xi32>
// CHECK: %[[FIRST:.*]] = arith.andi %[[LOW]], %[[BYTES]]
// CHECK: %[[SHIFTED:.*]] = arith.shrui %[[LOW]], %[[C8]]
// CHECK: %[[SECOND:.*]] = arith.andi %[[SHIFTED]], %[[BYTES]]
// CHECK: arith.andi %[[HIGH]], %[[BYTES]]
// CHECK: vector.store %[[FIRST]], %arg1[%c0, %c0]
// CHECK: vector.store %[[SECOND]], %arg1[%c1, %c0]
tile.func @turn_to_16_bits(%a: memref<2x8xi32>, %b: memref<4x8xi32>)
    attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 8 : i64} {
  %c0 = arith.constant 0 : index
  %w = tile.load %a[%c0, %c0] : memref<2x8xi32> -> tensor<2x8xi32, #vectors>
  %t = tile.turn_integers %w packed 8 bits 16 : tensor<2x8xi32, #vectors> -> tensor<4x8xi32, #vectors>
  tile.store %t, %b[%c0, %c0] : tensor<4x8xi32, #vectors>, memref<4x8xi32>
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
// CHECK: tile.integer_dot %[[S]], %[[REPEATED]], %[[R]] bits 8 : vector<16xi32>
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
  %d = tile.dot %l, %r, %s {integers = 8 : i64} : tensor<1x1xi32, #numbers>, tensor<1x16xi32, #vectors> -> tensor<1x16xi32, #vectors>
  tile.store %d, %c[%c0, %c0] : tensor<1x16xi32, #vectors>, memref<1x16xi32>
  tile.return
}
