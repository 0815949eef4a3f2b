// RUN: heddle-opt %s --verify-diagnostics --pass-pipeline='builtin.module(heddle-verify-phase{phase=fuse})'

func.func @unfused(%x: tensor<2x4x4xf32>) {
  heddle.kernel "softmax" (%x : tensor<2x4x4xf32>) -> tensor<2x4x4xf32> {
  ^bb0(%a: tensor<2x4x4xf32>):
    // expected-error @+1 {{'heddle.softmax' is not legal after phase 'fuse': attention is compiled fused only; fuse-attention was switched off or did not recognise it}}
    %0 = heddle.softmax %a : tensor<2x4x4xf32>
    heddle.yield %0 : tensor<2x4x4xf32>
  }
  return
}
