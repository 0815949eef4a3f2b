// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-expand-cpu-math))' --verify-diagnostics

tile.func @tiles(%a: memref<4x32xf32>) attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 8 : i64} {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{makes a tile; run heddle-lower-to-lanes first}}
  %0 = tile.load %a[%c0, %c0] : memref<4x32xf32> -> tensor<4x32xf32>
  %1 = math.exp %0 : tensor<4x32xf32>
  tile.store %1, %a[%c0, %c0] : tensor<4x32xf32>, memref<4x32xf32>
  tile.return
}
