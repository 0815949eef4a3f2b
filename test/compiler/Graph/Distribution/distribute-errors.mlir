// RUN: heddle-opt %s --heddle-distribute --split-input-file --verify-diagnostics

// A moving average over the rank's part of the batch.
heddle.variable @average counter : tensor<4xf32>
func.func @step(%x: tensor<4xf32>) attributes {heddle.ranks} {
  %old = heddle.read @average : tensor<4xf32>
  %new = arith.addf %old, %x : tensor<4xf32>
  // expected-error @+1 {{gives variable 'average' a value that each rank makes of its part of the batch alone, so that ranks would come to differ; this model trains on one device}}
  heddle.write @average, %new : tensor<4xf32>
  return
}

// -----

// A gradient that a rank accumulates is the rank's own.
heddle.variable @w weight : tensor<4xf32>
heddle.variable @grad.w gradient of @w as gradient : tensor<4xf32>
func.func @step() attributes {heddle.ranks} {
  %g = heddle.read @grad.w : tensor<4xf32>
  // expected-error @+1 {{gives variable 'w' a value that each rank makes of its part of the batch alone}}
  heddle.write @w, %g : tensor<4xf32>
  return
}

// -----

// expected-error @+1 {{several ranks run 'blocks', which should be a single block}}
func.func @blocks() attributes {heddle.ranks} {
  return
^unreachable:
  return
}

// -----

// The gradients of both weights are one message, which is sent once the second gradient is computed.
heddle.variable @a weight : tensor<4xf32>
heddle.variable @adam.m.a optimizer_state of @a as first_moment : tensor<4xf32>
heddle.variable @adam.v.a optimizer_state of @a as second_moment : tensor<4xf32>
heddle.variable @b weight : tensor<400xf32>
heddle.variable @adam.m.b optimizer_state of @b as first_moment : tensor<400xf32>
heddle.variable @adam.v.b optimizer_state of @b as second_moment : tensor<400xf32>
func.func @step(%x: tensor<4xf32>, %y: tensor<400xf32>, %r: tensor<1xf32>) attributes {heddle.ranks} {
  %ga = math.exp %x : tensor<4xf32>
  %a = heddle.read @a : tensor<4xf32>
  %ma = heddle.read @adam.m.a : tensor<4xf32>
  %va = heddle.read @adam.v.a : tensor<4xf32>
  // expected-error @+1 {{uses a gradient before the ranks have summed it up: move it behind the backward pass}}
  %a2, %ma2, %va2 = heddle.adam %a, %ga, %ma, %va rate %r corrections %r, %r scale %r
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32} : tensor<4xf32>
  %gb = math.exp %y : tensor<400xf32>
  %b = heddle.read @b : tensor<400xf32>
  %mb = heddle.read @adam.m.b : tensor<400xf32>
  %vb = heddle.read @adam.v.b : tensor<400xf32>
  %b2, %mb2, %vb2 = heddle.adam %b, %gb, %mb, %vb rate %r corrections %r, %r scale %r
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32} : tensor<400xf32>
  return
}
