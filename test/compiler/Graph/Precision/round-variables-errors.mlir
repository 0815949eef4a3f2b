// RUN: heddle-opt %s --split-input-file --verify-diagnostics --heddle-round-variables=moments=bf16
// RUN: not heddle-opt %s --heddle-round-variables=moments=f16 2>&1 | FileCheck %s --check-prefix=FORMAT
// FORMAT: error: moments are rounded to bf16, not to 'f16'

// expected-error@below {{no moment can be kept in bf16: that takes a matrix that Adam trains, with an even number of columns and a multiple of 128 elements}}
module {
  heddle.variable @b weight : tensor<4xf32>
  heddle.variable @adam.m.b optimizer_state of @b as first_moment : tensor<4xf32>
  heddle.variable @adam.v.b optimizer_state of @b as second_moment : tensor<4xf32>
  heddle.variable @w weight : tensor<8x8xf32>
  heddle.variable @adam.m.w optimizer_state of @w as first_moment : tensor<8x8xf32>
  heddle.variable @adam.v.w optimizer_state of @w as second_moment : tensor<8x8xf32>
}

// -----

heddle.variable @w weight : tensor<32x4xf32>
heddle.variable @adam.m.w optimizer_state of @w as first_moment : tensor<32x4xf32>
heddle.variable @adam.v.w optimizer_state of @w as second_moment : tensor<32x4xf32>
func.func @step(%g: tensor<32x4xf32>, %r: tensor<1xf32>) {
  %w = heddle.read @w : tensor<32x4xf32>
  %m = heddle.read @adam.m.w : tensor<32x4xf32>
  %v = heddle.read @adam.v.w : tensor<32x4xf32>
  // expected-error@below {{is to round its moments at random by the number of the step, which its entry does not count before it; write the variable that is `counter as steps`}}
  %w2, %m2, %v2 = heddle.adam %w, %g, %m, %v rate %r corrections %r, %r scale %r
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32} : tensor<32x4xf32>
  heddle.write @w, %w2 : tensor<32x4xf32>
  heddle.write @adam.m.w, %m2 : tensor<32x4xf32>
  heddle.write @adam.v.w, %v2 : tensor<32x4xf32>
  return
}
