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

// -----

// expected-error @+1 {{'tile.func' op has more than 8 tile.changed, as many as a launch keeps}}
tile.func @changed(%a: memref<4x32xf32>, %n: index) attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 16 : i64} {
  %0 = tile.changed %n
  %1 = tile.changed %n
  %2 = tile.changed %n
  %3 = tile.changed %n
  %4 = tile.changed %n
  %5 = tile.changed %n
  %6 = tile.changed %n
  %7 = tile.changed %n
  %8 = tile.changed %n
  tile.return
}

// -----

tile.func @integers(%a: memref<4x32xi32>) attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 8 : i64} {
  %c0 = arith.constant 0 : index
  %x = vector.load %a[%c0, %c0] : memref<4x32xi32>, vector<8xi32>
  // expected-error @+2 {{takes vectors of 16 elements, got 'vector<8xi32>'}}
  // expected-error @+1 {{failed to legalize operation 'tile.integer_dot'}}
  %y = tile.integer_dot %x, %x, %x bits 8 : vector<8xi32>
  vector.store %y, %a[%c0, %c0] : memref<4x32xi32>, vector<8xi32>
  tile.return
}
