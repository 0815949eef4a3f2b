// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels))' --verify-diagnostics --split-input-file

// An op without a kernel.
func.func @no_kernel(%loss: tensor<1xf32>) -> tensor<1xf32> {
  // expected-error @+1 {{'heddle.minimize' belongs to no kernel: the op is not elementwise and does not anchor a kernel}}
  %rate = heddle.minimize %loss {beta1 = 0.9 : f32, beta2 = 0.9 : f32, epsilon = 1.0e-9 : f32, clip_norm = 0.0 : f32} rate {
  ^bb0(%s: tensor<1xf32>):
    %peak = heddle.fill 1.0 : f32 : tensor<1xf32>
    heddle.yield %peak : tensor<1xf32>
  }
  return %rate : tensor<1xf32>
}

// -----

// expected-error @+1 {{an entry is straight-line code; expects a single block}}
func.func @two_blocks(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
^unreachable:
  return %x : tensor<8xf32>
}

// -----

func.func @number(%x: f32) {
  // expected-error @+1 {{'arith.addf' computes no tensor: kernels do not pass single numbers}}
  %0 = arith.addf %x, %x : f32
  return
}

// -----

// expected-error @+1 {{kernels take tensors of f32, bf16, f16, i32 or i1, with one to three dimensions of at least one element each, and argument 0 is a 'i1'}}
func.func @condition(%c: i1, %x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %0 = arith.select %c, %x, %y : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @wide(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{kernels take tensors of f32, bf16, f16, i32 or i1, with one to three dimensions of at least one element each, and 'arith.extf' makes a 'tensor<8xf64>'}}
  %0 = arith.extf %x : tensor<8xf32> to tensor<8xf64>
  %1 = arith.truncf %0 : tensor<8xf64> to tensor<8xf32>
  return %1 : tensor<8xf32>
}
