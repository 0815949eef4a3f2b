// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-assign-layouts{target=cuda:sm_80}))' --verify-diagnostics

tile.func @sides(%x: memref<64x64xbf16>) attributes {workgroup = 128 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %c0] : memref<64x64xbf16> -> tensor<64x64xbf16>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  // expected-error @+1 {{the lanes of this kernel multiply a right side that is transposed}}
  %p = tile.dot %a, %a, %zero : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
  tile.return
}
