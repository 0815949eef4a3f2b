// Words of two elements of 16 bits each: what the matrix registers of processors multiply.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-lower-to-lanes,canonicalize,cse))' --split-input-file | FileCheck %s

#vectors = #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 16>

// Pairs of a column interleave two rows.
// CHECK-LABEL: tile.func @of_columns
// CHECK: %[[FIRST:.*]] = vector.load %arg0[%c0, %c0] : memref<2x16xbf16>, vector<16xbf16>
// CHECK: %[[SECOND:.*]] = vector.load %arg0[%c1, %c0] : memref<2x16xbf16>, vector<16xbf16>
// CHECK: %[[BOTH:.*]] = vector.interleave %[[FIRST]], %[[SECOND]]
// CHECK: %[[WORDS:.*]] = vector.bitcast %[[BOTH]] : vector<32xbf16> to vector<16xi32>
// CHECK: vector.store %[[WORDS]], %arg1[%c0, %c0]
tile.func @of_columns(%a: memref<2x16xbf16>, %m: memref<1x16xi32>)
    attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 16 : i64} {
  %c0 = arith.constant 0 : index
  %x = tile.load %a[%c0, %c0] : memref<2x16xbf16> -> tensor<2x16xbf16, #vectors>
  %w = tile.pairs %x dim 0 : tensor<2x16xbf16, #vectors> -> tensor<1x16xi32, #vectors>
  tile.store %w, %m[%c0, %c0] : tensor<1x16xi32, #vectors>, memref<1x16xi32>
  tile.return
}

// -----

#vectors = #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 16>

// Pairs of a row are those of two neighbouring registers, in order.
// CHECK-LABEL: tile.func @of_rows
// CHECK: %[[FIRST:.*]] = vector.load %arg0[%c0, %c0] : memref<1x32xbf16>, vector<16xbf16>
// CHECK: %[[SECOND:.*]] = vector.load %arg0[%c0, %c16] : memref<1x32xbf16>, vector<16xbf16>
// CHECK: %[[BOTH:.*]] = vector.shuffle %[[FIRST]], %[[SECOND]] [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
// CHECK: vector.bitcast %[[BOTH]] : vector<32xbf16> to vector<16xi32>
tile.func @of_rows(%a: memref<1x32xbf16>, %m: memref<1x16xi32>)
    attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 16 : i64} {
  %c0 = arith.constant 0 : index
  %x = tile.load %a[%c0, %c0] : memref<1x32xbf16> -> tensor<1x32xbf16, #vectors>
  %w = tile.pairs %x dim 1 : tensor<1x32xbf16, #vectors> -> tensor<1x16xi32, #vectors>
  tile.store %w, %m[%c0, %c0] : tensor<1x16xi32, #vectors>, memref<1x16xi32>
  tile.return
}

// -----

// CHECK-LABEL: tile.func @matrices
// CHECK: tile.matrix_load 4, %arg0
// CHECK: tile.matrix_dot 0, 4, 6
tile.func @matrices(%m: memref<16x16xi32>) attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 16 : i64} {
  %c0 = arith.constant 0 : index
  tile.matrix_load 4, %m[%c0, %c0] : memref<16x16xi32>
  tile.matrix_dot 0, 4, 6
  tile.return
}
