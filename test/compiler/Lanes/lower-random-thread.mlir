// Random numbers in a thread's vectors. A counter yields four words, so a vector of 16 columns takes four counters. Ten
// rounds of two multiplications compute them together, as vectors of counters. Up to four registers share a draw.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-lower-to-lanes))' | FileCheck %s

#eight = #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 8>
#sixteen = #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 16>

// CHECK-LABEL: tile.func @by8
tile.func @by8(%seed: memref<1x2xi32>, %b: memref<1x8xf32>)
    attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 8 : i64} {
  // A counter is a quarter of the index of its first column.
  // CHECK: %[[COLUMNS:.*]] = arith.addi {{.*}} : vector<8xi32>
  // CHECK: %[[FIRST:.*]] = vector.shuffle %[[COLUMNS]], %[[COLUMNS]] [0, 4] : vector<8xi32>, vector<8xi32>
  // CHECK: arith.shrui %[[FIRST]]
  // CHECK-COUNT-20: arith.mului_extended {{.*}} : vector<2xi32>
  // CHECK-NOT: arith.mului_extended
  // The first two words of both counters, the other two words, and all words in the order of the columns.
  // CHECK: %[[LOW:.*]] = vector.shuffle {{.*}} [0, 2, 1, 3] : vector<2xi32>, vector<2xi32>
  // CHECK: %[[HIGH:.*]] = vector.shuffle {{.*}} [0, 2, 1, 3] : vector<2xi32>, vector<2xi32>
  // CHECK: %[[WORDS:.*]] = vector.shuffle %[[LOW]], %[[HIGH]] [0, 1, 4, 5, 2, 3, 6, 7] : vector<4xi32>, vector<4xi32>
  // CHECK: arith.shrui %[[WORDS]]
  // CHECK: arith.sitofp %{{.*}} : vector<8xi32> to vector<8xf32>
  %c0 = arith.constant 0 : index
  %s = memref.load %seed[%c0, %c0] : memref<1x2xi32>
  %i = tile.index %c0 dim 0 : tensor<1x8xi32, #eight>
  %j = tile.index %c0 dim 1 : tensor<1x8xi32, #eight>
  %r = tile.random seed(%s, %s) step %s stream %s at(%i, %j) : tensor<1x8xi32, #eight> -> tensor<1x8xf32, #eight>
  tile.store %r, %b[%c0, %c0] : tensor<1x8xf32, #eight>, memref<1x8xf32>
  tile.return
}

// Seven registers are drawn as four, two and one. Each row has a stream of its own.
// CHECK-LABEL: tile.func @by16
tile.func @by16(%seed: memref<1x2xi32>, %b: memref<7x16xf32>)
    attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 16 : i64} {
  // CHECK-DAG: vector.shuffle {{.*}} [0, 4, 8, 12, 16, 20, 24, 28] : vector<16xi32>, vector<16xi32>
  // CHECK-DAG: vector.shuffle {{.*}} [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15] : vector<8xi32>, vector<8xi32>
  // CHECK-COUNT-20: arith.mului_extended {{.*}} : vector<16xi32>
  // The second register's counters begin with element 4.
  // CHECK: vector.shuffle {{.*}} [4, 20, 5, 21, 6, 22, 7, 23] : vector<16xi32>, vector<16xi32>
  // CHECK-COUNT-20: arith.mului_extended {{.*}} : vector<8xi32>
  // CHECK-COUNT-20: arith.mului_extended {{.*}} : vector<4xi32>
  // CHECK-NOT: arith.mului_extended
  // CHECK-COUNT-7: arith.sitofp %{{.*}} : vector<16xi32> to vector<16xf32>
  %c0 = arith.constant 0 : index
  %s = memref.load %seed[%c0, %c0] : memref<1x2xi32>
  %i = tile.index %c0 dim 0 : tensor<7x16xi32, #sixteen>
  %j = tile.index %c0 dim 1 : tensor<7x16xi32, #sixteen>
  %r = tile.random seed(%s, %s) step %s stream %s at(%i, %j) streams %i : tensor<7x16xi32, #sixteen> : tensor<7x16xi32, #sixteen> -> tensor<7x16xf32, #sixteen>
  tile.store %r, %b[%c0, %c0] : tensor<7x16xf32, #sixteen>, memref<7x16xf32>
  tile.return
}
