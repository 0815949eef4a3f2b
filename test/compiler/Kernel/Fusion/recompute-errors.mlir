// RUN: heddle-opt %s --heddle-recompute --verify-diagnostics --split-input-file
// RUN: heddle-opt %s --heddle-recompute=policy=none -o /dev/null

func.func @number(%x: f32) -> f32 {
  // expected-error @+1 {{'arith.addf' computes no tensor: kernels do not pass single numbers}}
  %0 = arith.addf %x, %x : f32
  return %0 : f32
}
