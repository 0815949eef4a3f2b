// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-assign-layouts))' --verify-diagnostics --split-input-file

tile.func @transposed_left(%x: memref<64x64xf32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %lhs = tile.load %x[%c0, %c0] : memref<64x64xf32> -> tensor<4x8xf32>
  %rhs = tile.load %x[%c0, %c0] : memref<64x64xf32> -> tensor<4x12xf32>
  %zero = arith.constant dense<0.0> : tensor<8x12xf32>
  // expected-error @+1 {{the lanes of this kernel multiply a left side that is not transposed}}
  %p = tile.dot %lhs, %rhs, %zero {transpose_lhs} : tensor<4x8xf32>, tensor<4x12xf32> -> tensor<8x12xf32>
  tile.store %p, %x[%c0, %c0] : tensor<8x12xf32>, memref<64x64xf32>
  tile.return
}

// -----

tile.func @transposed_right(%x: memref<64x64xf32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %lhs = tile.load %x[%c0, %c0] : memref<64x64xf32> -> tensor<8x4xf32>
  %rhs = tile.load %x[%c0, %c0] : memref<64x64xf32> -> tensor<32x4xf32>
  %zero = arith.constant dense<0.0> : tensor<8x32xf32>
  // expected-error @+1 {{the lanes of this kernel multiply a right side that is not transposed}}
  %p = tile.dot %lhs, %rhs, %zero {transpose_rhs} : tensor<8x4xf32>, tensor<32x4xf32> -> tensor<8x32xf32>
  tile.store %p, %x[%c0, %c0] : tensor<8x32xf32>, memref<64x64xf32>
  tile.return
}

// -----

tile.func @odd_rows(%x: memref<64x64xf32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{the tile 'tensor<12x8xf32>' does not fit the layout #tile.simt<lanes = [8, 1], strides = [1, 1], vector = 4>: 12 rows cannot be distributed over 8 lanes}}
  %a = tile.load %x[%c0, %c0] : memref<64x64xf32> -> tensor<12x8xf32>
  tile.store %a, %x[%c0, %c0] : tensor<12x8xf32>, memref<64x64xf32>
  tile.return
}

// -----

tile.func @odd_columns(%x: memref<64x64xf32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{16 columns cannot be distributed over 8 lanes, 4 at a time}}
  %a = tile.load %x[%c0, %c0] : memref<64x64xf32> -> tensor<4x16xf32>
  tile.store %a, %x[%c0, %c0] : tensor<4x16xf32>, memref<64x64xf32>
  tile.return
}

// -----

// expected-error @+1 {{target vulkan:software has no tensor cores}}
tile.func @tensor() attributes {workgroup = 128 : i64, mapping = #tile.mapping<tensor>, vector = 4 : i64} {
  tile.return
}

// -----

// If the right side is transposed, lanes have single columns of the result, otherwise four adjacent ones.
tile.func @sums(%x: memref<64x64xf32>) attributes {workgroup = 128 : i64, mapping = #tile.mapping<blocks>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %c0] : memref<64x64xf32> -> tensor<64x4xf32>
  %b = tile.load %x[%c0, %c0] : memref<64x64xf32> -> tensor<4x32xf32>
  %c = tile.load %x[%c0, %c0] : memref<64x64xf32> -> tensor<32x4xf32>
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %p = tile.dot %a, %b, %zero : tensor<64x4xf32>, tensor<4x32xf32> -> tensor<64x32xf32>
  // expected-error @+1 {{sums are needed in two layouts, #tile.simt<lanes = [16, 8], strides = [8, 1], vector = 4> and #tile.simt<lanes = [16, 8], strides = [8, 1], vector = 1>}}
  %q = tile.dot %a, %c, %p {transpose_rhs} : tensor<64x4xf32>, tensor<32x4xf32> -> tensor<64x32xf32>
  tile.store %q, %x[%c0, %c0] : tensor<64x32xf32>, memref<64x64xf32>
  tile.return
}
