// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-assign-layouts))' > %t
// RUN: FileCheck %s --input-file=%t -DCOLUMNS='#tile.simt<lanes = [1, 8], strides = [1, 1], vector = 4>' -DROWS='#tile.simt<lanes = [8, 1], strides = [1, 1], vector = 4>' -DWHOLE='#tile.simt<lanes = [1, 1], strides = [1, 1], vector = 4>'

// Lanes take 4 adjacent columns in turn. With the same layout, each lane has all of a tile of one column.
// CHECK-LABEL: tile.func @columns
tile.func @columns(%x: memref<?x64xf32>, %bias: memref<1x64xf32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  // CHECK: tile.load %arg0{{.*}} -> tensor<4x32xf32, [[COLUMNS]]>
  %a = tile.load %x[%c0, %c0] : memref<?x64xf32> -> tensor<4x32xf32>
  // CHECK: %[[B:.*]] = tile.load %arg1{{.*}} -> tensor<1x32xf32, [[COLUMNS]]>
  %b = tile.load %bias[%c0, %c0] : memref<1x64xf32> -> tensor<1x32xf32>
  // CHECK: tile.broadcast %[[B]] : tensor<1x32xf32, [[COLUMNS]]> -> tensor<4x32xf32, [[COLUMNS]]>
  %wide = tile.broadcast %b : tensor<1x32xf32> -> tensor<4x32xf32>
  // CHECK: arith.constant dense<0.000000e+00> : tensor<4x32xf32, [[COLUMNS]]>
  %zero = arith.constant dense<0.0> : tensor<4x32xf32>
  %s = arith.addf %a, %wide : tensor<4x32xf32>
  // CHECK: arith.cmpf ogt, %{{.*}}, %{{.*}} : tensor<4x32xf32, [[COLUMNS]]>
  %positive = arith.cmpf ogt, %s, %zero : tensor<4x32xf32>
  %r = arith.select %positive, %s, %zero : tensor<4x32xi1>, tensor<4x32xf32>
  // CHECK: tile.store %{{.*}} : tensor<4x32xf32, [[COLUMNS]]>, memref<?x64xf32>
  tile.store %r, %x[%c0, %c0] : tensor<4x32xf32>, memref<?x64xf32>
  tile.return
}

// Each row belongs to a lane, and so does the result of its reduction. Loops carry both.
// CHECK-LABEL: tile.func @rows
tile.func @rows(%x: memref<64x64xf32>, %y: memref<64x1xf32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  // CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<8x1xf32, [[ROWS]]>
  %zero = arith.constant dense<0.0> : tensor<8x1xf32>
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[ZERO]]) -> (tensor<8x1xf32, [[ROWS]]>)
  %s = scf.for %k = %c0 to %c64 step %c32 iter_args(%state = %zero) -> (tensor<8x1xf32>) {
    %a = tile.load %x[%c0, %k] : memref<64x64xf32> -> tensor<8x32xf32>
    // CHECK: tile.reduce sum %{{.*}} dim 1 : tensor<8x32xf32, [[ROWS]]> -> tensor<8x1xf32, [[ROWS]]>
    %r = tile.reduce sum %a dim 1 : tensor<8x32xf32> -> tensor<8x1xf32>
    %next = arith.addf %state, %r : tensor<8x1xf32>
    scf.yield %next : tensor<8x1xf32>
  }
  tile.store %s, %y[%c0, %c0] : tensor<8x1xf32>, memref<64x1xf32>
  tile.return
}

// If lanes lie along the columns, every lane needs the whole left side of a matmul.
// CHECK-LABEL: tile.func @product_along_columns
tile.func @product_along_columns(%x: memref<?x64xf32>, %w: memref<64x64xf32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  // CHECK: %[[L:.*]] = tile.load %arg0{{.*}} -> tensor<16x4xf32, [[WHOLE]]>
  %lhs = tile.load %x[%c0, %c0] : memref<?x64xf32> -> tensor<16x4xf32>
  // CHECK: %[[R:.*]] = tile.load %arg1{{.*}} -> tensor<4x32xf32, [[COLUMNS]]>
  %rhs = tile.load %w[%c0, %c0] : memref<64x64xf32> -> tensor<4x32xf32>
  %zero = arith.constant dense<0.0> : tensor<16x32xf32>
  // CHECK: tile.dot %[[L]], %[[R]], %{{.*}} : tensor<16x4xf32, [[WHOLE]]>, tensor<4x32xf32, [[COLUMNS]]> -> tensor<16x32xf32, [[COLUMNS]]>
  %p = tile.dot %lhs, %rhs, %zero : tensor<16x4xf32>, tensor<4x32xf32> -> tensor<16x32xf32>
  tile.store %p, %x[%c0, %c0] : tensor<16x32xf32>, memref<?x64xf32>
  tile.return
}

// If lanes lie along the rows, every lane needs the whole right side. Values from which it is computed are whole in
// each lane too.
// CHECK-LABEL: tile.func @product_along_rows
tile.func @product_along_rows(%x: memref<?x64xf32>, %w: memref<64x64xf32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  // CHECK: tile.load %arg0{{.*}} -> tensor<8x8xf32, [[ROWS]]>
  %lhs = tile.load %x[%c0, %c0] : memref<?x64xf32> -> tensor<8x8xf32>
  // CHECK: tile.load %arg1{{.*}} -> tensor<12x8xf32, [[WHOLE]]>
  %rhs = tile.load %w[%c0, %c0] : memref<64x64xf32> -> tensor<12x8xf32>
  // CHECK: math.exp %{{.*}} : tensor<12x8xf32, [[WHOLE]]>
  %e = math.exp %rhs : tensor<12x8xf32>
  %zero = arith.constant dense<0.0> : tensor<8x12xf32>
  // CHECK: tile.dot %{{.*}} {transpose_rhs} : tensor<8x8xf32, [[ROWS]]>, tensor<12x8xf32, [[WHOLE]]> -> tensor<8x12xf32, [[ROWS]]>
  %p = tile.dot %lhs, %e, %zero {transpose_rhs} : tensor<8x8xf32>, tensor<12x8xf32> -> tensor<8x12xf32>
  tile.store %p, %x[%c0, %c0] : tensor<8x12xf32>, memref<?x64xf32>
  tile.return
}

// A constant that both sides use is created twice, once in each layout.
// CHECK-LABEL: tile.func @constant_in_two_layouts
tile.func @constant_in_two_layouts(%x: memref<64x64xf32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  // CHECK-DAG: %[[A:.*]] = arith.constant dense<1.000000e+00> : tensor<32x32xf32, [[WHOLE]]>
  // CHECK-DAG: %[[B:.*]] = arith.constant dense<1.000000e+00> : tensor<32x32xf32, [[COLUMNS]]>
  // CHECK-DAG: %[[C:.*]] = arith.constant dense<1.000000e+00> : tensor<32x32xf32, [[COLUMNS]]>
  %one = arith.constant dense<1.0> : tensor<32x32xf32>
  // CHECK: tile.dot %[[A]], %{{.*}}, %{{.*}} : tensor<32x32xf32, [[WHOLE]]>, tensor<32x32xf32, [[COLUMNS]]> -> tensor<32x32xf32, [[COLUMNS]]>
  %p = tile.dot %one, %one, %one : tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xf32>
  tile.store %p, %x[%c0, %c0] : tensor<32x32xf32>, memref<64x64xf32>
  tile.return
}

// One tile as both sides: whole in each lane as the left side, and converted to each lane's columns as the right side.
// CHECK-LABEL: tile.func @square
// CHECK: %[[A:.*]] = tile.load {{.*}} -> tensor<32x32xf32, [[WHOLE]]>
// CHECK: %[[RIGHT:.*]] = tile.convert_layout %[[A]] : tensor<32x32xf32, [[WHOLE]]> -> tensor<32x32xf32, [[COLUMNS]]>
// CHECK: tile.dot %[[A]], %[[RIGHT]], %{{.*}} : tensor<32x32xf32, [[WHOLE]]>, tensor<32x32xf32, [[COLUMNS]]> -> tensor<32x32xf32, [[COLUMNS]]>
tile.func @square(%x: memref<64x64xf32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %c0] : memref<64x64xf32> -> tensor<32x32xf32>
  %zero = arith.constant dense<0.0> : tensor<32x32xf32>
  %p = tile.dot %a, %a, %zero : tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xf32>
  tile.store %p, %x[%c0, %c0] : tensor<32x32xf32>, memref<64x64xf32>
  tile.return
}

// The result of a matmul is the left side of the next one, which each lane needs whole.
// CHECK-LABEL: tile.func @chain
// CHECK: %[[E:.*]] = math.exp %{{.*}} : tensor<8x32xf32, [[COLUMNS]]>
// CHECK: %[[LEFT:.*]] = tile.convert_layout %[[E]] : tensor<8x32xf32, [[COLUMNS]]> -> tensor<8x32xf32, [[WHOLE]]>
// CHECK: tile.dot %[[LEFT]]
tile.func @chain(%x: memref<64x64xf32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %c0] : memref<64x64xf32> -> tensor<8x32xf32>
  %b = tile.load %x[%c0, %c0] : memref<64x64xf32> -> tensor<32x32xf32>
  %zero = arith.constant dense<0.0> : tensor<8x32xf32>
  %p = tile.dot %a, %b, %zero : tensor<8x32xf32>, tensor<32x32xf32> -> tensor<8x32xf32>
  %e = math.exp %p : tensor<8x32xf32>
  %q = tile.dot %e, %b, %zero : tensor<8x32xf32>, tensor<32x32xf32> -> tensor<8x32xf32>
  tile.store %q, %x[%c0, %c0] : tensor<8x32xf32>, memref<64x64xf32>
  tile.return
}
