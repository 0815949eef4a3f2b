// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-sink-loads))' | FileCheck %s

// A load moves to its first use, together with ops that only pick an element of it, but not past a write.
// CHECK-LABEL: tile.func @sink
tile.func @sink(%a: memref<8x8xf32>, %b: memref<8x8xf32>)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  // CHECK: %[[X:.*]] = vector.load %arg0[%c0, %c0]
  // CHECK-NEXT: %[[E:.*]] = vector.extract %[[X]][0]
  // CHECK-NEXT: %[[R:.*]] = vector.broadcast %[[E]]
  // CHECK-NEXT: %[[U:.*]] = arith.addf %[[R]], %[[R]]
  // CHECK-NEXT: %[[Y:.*]] = vector.load %arg0[%c0, %c4]
  // CHECK-NEXT: %[[V:.*]] = arith.mulf %[[U]], %[[Y]]
  // CHECK-NEXT: %[[Z:.*]] = vector.load %arg0[%c1, %c0]
  // CHECK-NEXT: vector.store %[[V]], %arg1
  // CHECK-NEXT: arith.addf %[[V]], %[[Z]]
  %y = vector.load %a[%c0, %c4] : memref<8x8xf32>, vector<4xf32>
  %x = vector.load %a[%c0, %c0] : memref<8x8xf32>, vector<4xf32>
  %z = vector.load %a[%c1, %c0] : memref<8x8xf32>, vector<4xf32>
  %e = vector.extract %x[0] : f32 from vector<4xf32>
  %r = vector.broadcast %e : f32 to vector<4xf32>
  %u = arith.addf %r, %r : vector<4xf32>
  %v = arith.mulf %u, %y : vector<4xf32>
  vector.store %v, %b[%c0, %c0] : memref<8x8xf32>, vector<4xf32>
  %w = arith.addf %v, %z : vector<4xf32>
  vector.store %w, %b[%c0, %c4] : memref<8x8xf32>, vector<4xf32>
  tile.return
}

// A use in a loop counts as a use at the loop: nothing is loaded more often than before.
// CHECK-LABEL: tile.func @loop
tile.func @loop(%a: memref<8x8xf32>, %n: index)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: %[[X:.*]] = vector.load
  // CHECK-NEXT: scf.for
  // CHECK-NOT: vector.load
  %x = vector.load %a[%c0, %c0] : memref<8x8xf32>, vector<4xf32>
  %zero = arith.constant dense<0.0> : vector<4xf32>
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%t = %zero) -> vector<4xf32> {
    %u = arith.addf %t, %x : vector<4xf32>
    scf.yield %u : vector<4xf32>
  }
  vector.store %s, %a[%c0, %c0] : memref<8x8xf32>, vector<4xf32>
  tile.return
}
