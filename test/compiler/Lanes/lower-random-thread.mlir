// Random numbers in a thread's vectors. A counter yields four words, so a vector of 8 columns takes two counters and a
// vector of 16 takes four. Each is ten rounds of two multiplications.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-lower-to-lanes))' | FileCheck %s

#eight = #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 8>
#sixteen = #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 16>

// CHECK-LABEL: tile.func @by8
tile.func @by8(%seed: memref<1x2xi32>, %b: memref<1x8xf32>)
    attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 8 : i64} {
  // A counter has a quarter of the number of its first column.
  // CHECK: %[[COLUMNS:.*]] = arith.addi {{.*}} : vector<8xi32>
  // CHECK: %[[FIRST:.*]] = vector.extract %[[COLUMNS]][0]
  // CHECK: arith.shrui %[[FIRST]]
  // CHECK-COUNT-20: arith.mului_extended
  // CHECK: %[[SECOND:.*]] = vector.extract %[[COLUMNS]][4]
  // CHECK: arith.shrui %[[SECOND]]
  // CHECK-COUNT-20: arith.mului_extended
  // CHECK-NOT: arith.mului_extended
  // CHECK: %[[WORDS:.*]] = vector.from_elements {{.*}} : vector<8xi32>
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

// CHECK-LABEL: tile.func @by16
tile.func @by16(%seed: memref<1x2xi32>, %b: memref<1x16xf32>)
    attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 16 : i64} {
  // CHECK: vector.extract %[[COLUMNS:.*]][0] : i32 from vector<16xi32>
  // CHECK-COUNT-20: arith.mului_extended
  // CHECK: vector.extract %[[COLUMNS]][4]
  // CHECK-COUNT-20: arith.mului_extended
  // CHECK: vector.extract %[[COLUMNS]][8]
  // CHECK-COUNT-20: arith.mului_extended
  // CHECK: vector.extract %[[COLUMNS]][12]
  // CHECK-COUNT-20: arith.mului_extended
  // CHECK-NOT: arith.mului_extended
  // CHECK: vector.from_elements {{.*}} : vector<16xi32>
  // CHECK: arith.sitofp %{{.*}} : vector<16xi32> to vector<16xf32>
  %c0 = arith.constant 0 : index
  %s = memref.load %seed[%c0, %c0] : memref<1x2xi32>
  %i = tile.index %c0 dim 0 : tensor<1x16xi32, #sixteen>
  %j = tile.index %c0 dim 1 : tensor<1x16xi32, #sixteen>
  %r = tile.random seed(%s, %s) step %s stream %s at(%i, %j) : tensor<1x16xi32, #sixteen> -> tensor<1x16xf32, #sixteen>
  tile.store %r, %b[%c0, %c0] : tensor<1x16xf32, #sixteen>, memref<1x16xf32>
  tile.return
}
