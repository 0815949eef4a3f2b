// A workgroup of one lane: a processor's thread, whose registers are vectors of 8.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-assign-layouts{target=cpu:x86-64-v3}))' > %t
// RUN: FileCheck %s --input-file=%t -DNUMBERS='#tile.simt<lanes = [1, 1], strides = [1, 1], vector = 1>' -DVECTORS='#tile.simt<lanes = [1, 1], strides = [1, 1], vector = 8>'

// A matmul reads the left side element by element, because it repeats each in a vector. The right side and the sums are
// vectors.
// CHECK-LABEL: tile.func @product
tile.func @product(%a: memref<?x64xf32>, %b: memref<64x16xf32>, %c: memref<?x16xf32>)
    attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 8 : i64} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<6x16xf32>
  %sum = scf.for %k = %c0 to %c64 step %c8 iter_args(%s = %zero) -> tensor<6x16xf32> {
    // CHECK: %[[L:.*]] = tile.load %arg0{{.*}} -> tensor<6x8xf32, [[NUMBERS]]>
    %l = tile.load %a[%c0, %k] : memref<?x64xf32> -> tensor<6x8xf32>
    // CHECK: %[[R:.*]] = tile.load %arg1{{.*}} -> tensor<8x16xf32, [[VECTORS]]>
    %r = tile.load %b[%k, %c0] : memref<64x16xf32> -> tensor<8x16xf32>
    // CHECK: tile.dot %[[L]], %[[R]], %{{.*}} : tensor<6x8xf32, [[NUMBERS]]>, tensor<8x16xf32, [[VECTORS]]> -> tensor<6x16xf32, [[VECTORS]]>
    %d = tile.dot %l, %r, %s : tensor<6x8xf32>, tensor<8x16xf32> -> tensor<6x16xf32>
    scf.yield %d : tensor<6x16xf32>
  }
  // CHECK: tile.store %{{.*}} : tensor<6x16xf32, [[VECTORS]]>, memref<?x16xf32>
  tile.store %sum, %c[%c0, %c0] : tensor<6x16xf32>, memref<?x16xf32>
  tile.return
}

// A transposed right side is also read in vectors.
// CHECK-LABEL: tile.func @transposed
tile.func @transposed(%a: memref<?x64xf32>, %b: memref<64x64xf32>, %c: memref<?x64xf32>)
    attributes {workgroup = 1 : i64, mapping = #tile.mapping<rows>, vector = 8 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<14x8xf32>
  // CHECK: tile.load %arg0{{.*}} -> tensor<14x8xf32, [[NUMBERS]]>
  %l = tile.load %a[%c0, %c0] : memref<?x64xf32> -> tensor<14x8xf32>
  // CHECK: tile.load %arg1{{.*}} -> tensor<8x8xf32, [[VECTORS]]>
  %r = tile.load %b[%c0, %c0] : memref<64x64xf32> -> tensor<8x8xf32>
  %d = tile.dot %l, %r, %zero {transpose_rhs} : tensor<14x8xf32>, tensor<8x8xf32> -> tensor<14x8xf32>
  tile.store %d, %c[%c0, %c0] : tensor<14x8xf32>, memref<?x64xf32>
  tile.return
}
