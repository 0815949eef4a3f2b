// A lane with a column of the tile reads the row of the matrix that the column's index names.
// RUN: heddle-opt %s --heddle-lower-to-lanes | FileCheck %s
#columns = #tile.simt<lanes = [1, 8], strides = [1, 1], vector = 1>

// CHECK-LABEL: @gather
// CHECK-SAME: %[[M:[a-z0-9]+]]: memref<?x64xf32>, %[[LIST:[a-z0-9]+]]: memref<?x8xi32>
// CHECK: %[[NUMBER:.*]] = memref.load %[[LIST]]
// CHECK: %[[ROW:.*]] = arith.index_cast %[[NUMBER]]
// CHECK: memref.load %[[M]][%[[ROW]], %{{.*}}] : memref<?x64xf32>
// CHECK: memref.load %[[M]][%{{.*}}, %{{.*}}] : memref<?x64xf32>
tile.func @gather(%m: memref<?x64xf32>, %list: memref<?x8xi32>, %to: memref<?x8xf32>)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %rows = tile.load %list[%c0, %c0] : memref<?x8xi32> -> tensor<1x8xi32, #columns>
  %0 = tile.gather %m[%rows, %c3] {transposed} : memref<?x64xf32>, tensor<1x8xi32, #columns> -> tensor<2x8xf32, #columns>
  tile.store %0, %to[%c0, %c0] : tensor<2x8xf32, #columns>, memref<?x8xf32>
  tile.return
}
