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

// What a rank has summed up is its own, too.
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
