// RUN: heddle-opt %s --heddle-lower-to-llvm --verify-diagnostics --split-input-file

// expected-error @+1 {{'tile.func' op has a workgroup of 8 lanes; processors run one}}
tile.func @lanes(%a: memref<4x32xf32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 8 : i64} {
  tile.return
}

// -----

// expected-error @+1 {{'tile.func' op takes 'memref<4x?xf32>', but kernels address row-major matrices of known width}}
tile.func @width(%a: memref<4x?xf32>) attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 8 : i64} {
  tile.return
}

// -----

// expected-error @+1 {{but kernels address row-major matrices of known width}}
tile.func @column_major(%a: memref<4x32xf32, strided<[1, 4]>>) attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 8 : i64} {
  tile.return
}

// -----

// expected-error @+1 {{'tile.func' op takes 67108928 bytes of scratch memory; a thread has at most 67108864}}
tile.func @scratch(%a: memref<4x32xf32>) attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 8 : i64} {
  %s = tile.shared : memref<1048577x16xf32, #gpu.address_space<workgroup>>
  tile.return
}
