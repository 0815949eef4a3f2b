// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-lower-conversions))' --split-input-file --verify-diagnostics

#columns = #tile.simt<lanes = [1, 8], strides = [1, 1], vector = 4>
#left = #tile.cooperative<left, side = 8, subgroups = 1>
tile.func @operand() attributes {workgroup = 8 : i64, mapping = #tile.mapping<tensor>, vector = 4 : i64} {
  %t = arith.constant dense<0.0> : tensor<8x32xf16, #left>
  // expected-error @+1 {{takes an operand out of cooperative matrices, of which only sums can be stored: 'tensor<8x32xf16, #tile.cooperative<left, side = 8, subgroups = 1>>'}}
  %r = tile.convert_layout %t : tensor<8x32xf16, #left> -> tensor<8x32xf16, #columns>
  tile.return
}
