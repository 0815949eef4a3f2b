// RUN: heddle-opt %s --heddle-lower-to-nvvm --verify-diagnostics --split-input-file

// expected-error @+1 {{'tile.func' op takes 'memref<4x?xf32>', but kernels address row-major matrices of known width}}
tile.func @width(%a: memref<4x?xf32>) attributes {workgroup = 32 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  tile.return
}

// -----

tile.func @down(%a: memref<1x32xf32>) attributes {workgroup = 32 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : i32
  %c32 = arith.constant 32 : i32
  %x = memref.load %a[%c0, %c0] : memref<1x32xf32>
  // expected-error @+1 {{failed to legalize operation 'gpu.shuffle'}}
  %y, %valid = gpu.shuffle down %x, %c3, %c32 : f32
  memref.store %y, %a[%c0, %c0] : memref<1x32xf32>
  tile.return
}
