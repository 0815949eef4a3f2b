// RUN: heddle-opt %s --verify-diagnostics --pass-pipeline='builtin.module(heddle-verify-phase{phase=fuse})'

func.func @outside(%x: tensor<4x2x16xf32>) -> tensor<4x2x16xf32> {
  %y = heddle.kernel "softmax" (%x : tensor<4x2x16xf32>) -> tensor<4x2x16xf32> {
  ^bb0(%a: tensor<4x2x16xf32>):
    %0 = heddle.softmax %a : tensor<4x2x16xf32>
    heddle.yield %0 : tensor<4x2x16xf32>
  }
  // expected-error @+1 {{'heddle.softmax' is not legal after phase 'fuse'}}
  %z = heddle.softmax %y : tensor<4x2x16xf32>
  return %z : tensor<4x2x16xf32>
}
