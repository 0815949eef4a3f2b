// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels))' --verify-diagnostics --split-input-file

// What heddle-fuse-attention did not recognise has no kernel.
func.func @unfused_attention(%x: tensor<?x8xf32, #heddle.dims<"tokens">>) -> tensor<2x?x4xf32, #heddle.dims<"tokens">> {
  // expected-error @+1 {{'heddle.split_heads' is not part of any kernel: unfused attention cannot be compiled}}
  %h = heddle.split_heads %x : tensor<?x8xf32, #heddle.dims<"tokens">> -> tensor<2x?x4xf32, #heddle.dims<"tokens">>
  return %h : tensor<2x?x4xf32, #heddle.dims<"tokens">>
}

// -----

// expected-error @+1 {{an entry is straight-line code: expects one block}}
func.func @two_blocks(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
^unreachable:
  return %x : tensor<8xf32>
}
