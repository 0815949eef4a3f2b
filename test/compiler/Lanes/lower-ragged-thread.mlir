// A thread reads rows whose width no vector divides in whole vectors, and masks elements past a limit.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-assign-layouts{target=cpu:x86-64-v3},heddle-lower-to-lanes,canonicalize,cse))' | FileCheck %s

// CHECK-LABEL: tile.func @cut(
// CHECK-SAME: %[[A:.*]]: memref<?x172xf32>, %[[B:.*]]: memref<?x172xf32>, %[[COLUMN:.*]]: index, %[[ROWS:.*]]: index)
// CHECK-DAG: %[[NUMBERS:.*]] = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : vector<8xi32>
// CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<8xf32>
// CHECK-DAG: %[[LIMIT:.*]] = arith.constant 172 : index
tile.func @cut(%a: memref<?x172xf32>, %b: memref<?x172xf32>, %column: index, %rows: index)
    attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 8 : i64} {
  %c0 = arith.constant 0 : index
  %c172 = arith.constant 172 : index
  // CHECK: %[[LEFT:.*]] = arith.subi %[[LIMIT]], %[[COLUMN]] : index
  // CHECK: %[[LEFT32:.*]] = arith.index_cast %[[LEFT]] : index to i32
  // CHECK: %[[COUNT:.*]] = vector.broadcast %[[LEFT32]] : i32 to vector<8xi32>
  // CHECK: %[[MASK:.*]] = arith.cmpi sgt, %[[COUNT]], %[[NUMBERS]] : vector<8xi32>
  // CHECK: %[[PART:.*]] = vector.maskedload %[[A]][%{{.*}}, %[[COLUMN]]], %[[MASK]], %[[ZERO]] : {{.*}} into vector<8xf32>
  // A row past the row limit is masked completely.
  // CHECK: %[[X:.*]] = arith.select %{{.*}}, %[[PART]], %[[ZERO]] : vector<8xf32>
  %x = tile.load %a[%c0, %column] rows(%rows) columns(%c172) : memref<?x172xf32> -> tensor<2x16xf32>
  // A run in front of the limit is stored without a mask, a run that the limit cuts with a mask, and a run behind it
  // not at all.
  // CHECK: %[[LAST:.*]] = arith.addi %[[COLUMN]], %c7
  // CHECK: %[[WHOLE:.*]] = arith.cmpi slt, %[[LAST]], %[[LIMIT]] : index
  // CHECK: scf.if %[[WHOLE]] {
  // CHECK: vector.store %[[X]], %[[B]]
  // CHECK: } else {
  // CHECK: %[[ANY:.*]] = arith.cmpi slt, %[[COLUMN]], %[[LIMIT]] : index
  // CHECK: scf.if %[[ANY]] {
  // CHECK: vector.maskedstore %[[B]][%{{.*}}, %[[COLUMN]]], %[[MASK]], %[[X]]
  tile.store %x, %b[%c0, %column] rows(%rows) columns(%c172) : tensor<2x16xf32>, memref<?x172xf32>
  tile.return
}

// Inside the limits no mask is needed.
// CHECK-LABEL: tile.func @inside(
// CHECK-NOT: masked
// CHECK: vector.load %{{.*}} : memref<?x172xf32>, vector<8xf32>
// CHECK: vector.store %{{.*}} : memref<?x172xf32>, vector<8xf32>
// CHECK: tile.return
tile.func @inside(%a: memref<?x172xf32>, %b: memref<?x172xf32>, %column: index)
    attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 8 : i64} {
  %c0 = arith.constant 0 : index
  %x = tile.load %a[%c0, %column] : memref<?x172xf32> -> tensor<2x16xf32>
  tile.store %x, %b[%c0, %column] : tensor<2x16xf32>, memref<?x172xf32>
  tile.return
}

// A square of rows that a column limit cuts is also transposed in registers.
// CHECK-LABEL: tile.func @turned(
// CHECK-COUNT-8: vector.maskedload {{.*}} into vector<8xf32>
// CHECK-NOT: vector.maskedload
// CHECK: vector.shuffle
// CHECK-NOT: memref.load
// CHECK: tile.return
tile.func @turned(%a: memref<?x172xf32>, %b: memref<8x8xf32>, %column: index)
    attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 8 : i64} {
  %c0 = arith.constant 0 : index
  %c172 = arith.constant 172 : index
  %x = tile.load %a[%c0, %column] columns(%c172) {transposed} : memref<?x172xf32> -> tensor<8x8xf32>
  tile.store %x, %b[%c0, %c0] : tensor<8x8xf32>, memref<8x8xf32>
  tile.return
}

// 16-bit numbers are moved one by one.
// CHECK-LABEL: tile.func @halves(
// CHECK-NOT: masked
// CHECK: memref.load %{{.*}} : memref<?x172xf16>
// CHECK: tile.return
tile.func @halves(%a: memref<?x172xf16>, %b: memref<?x176xf16>, %column: index)
    attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 8 : i64} {
  %c0 = arith.constant 0 : index
  %c172 = arith.constant 172 : index
  %x = tile.load %a[%c0, %column] columns(%c172) : memref<?x172xf16> -> tensor<1x8xf16>
  tile.store %x, %b[%c0, %column] : tensor<1x8xf16>, memref<?x176xf16>
  tile.return
}
