// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @arguments(%w: tensor<4xf32>, %g: tensor<4xf32>) {
  // expected-error @+1 {{expects its region's arguments to have the operands' types}}
  %0 = heddle.update %w, %g : tensor<4xf32> {
  ^bb0(%weight: tensor<4xf32>):
    heddle.yield %weight : tensor<4xf32>
  }
  return
}

// -----

func.func @results(%w: tensor<4xf32>, %g: tensor<4xf32>, %rate: tensor<1xf32>) {
  // expected-error @+1 {{expects its region to yield the results' types}}
  %0 = heddle.update %w, %g with %rate : tensor<1xf32> : tensor<4xf32> {
  ^bb0(%weight: tensor<4xf32>, %gradient: tensor<4xf32>, %number: tensor<1xf32>):
    heddle.yield %number : tensor<1xf32>
  }
  return
}

// -----

func.func @states(%w: tensor<4xf32>, %g: tensor<4xf32>, %rate: tensor<1xf32>) {
  // expected-error @+1 {{expects its first inputs to be the states, of the new states' types}}
  %0, %1 = heddle.update %w, %g with %rate : tensor<1xf32> : tensor<4xf32>, tensor<4xf32> {
  ^bb0(%weight: tensor<4xf32>, %gradient: tensor<4xf32>, %number: tensor<1xf32>):
    heddle.yield %weight, %gradient : tensor<4xf32>, tensor<4xf32>
  }
  return
}

// -----

heddle.variable @w weight : tensor<4xf32>
func.func @effects(%w: tensor<4xf32>, %g: tensor<4xf32>) {
  // expected-error @+1 {{expects a region that only computes, not 'heddle.write'}}
  %0 = heddle.update %w, %g : tensor<4xf32> {
  ^bb0(%weight: tensor<4xf32>, %gradient: tensor<4xf32>):
    heddle.write @w, %gradient : tensor<4xf32>
    heddle.yield %weight : tensor<4xf32>
  }
  return
}

// -----

// expected-error @+1 {{expects preference, preference_beta and preference_smoothing together or not at all}}
heddle.training {beta1 = 0.9 : f32, beta2 = 0.98 : f32, clip_norm = 0.0 : f32, epsilon = 1.0e-9 : f32, preference = "dpo"}

// -----

// expected-error @+1 {{expects the preference "dpo" or "ipo", got "kto"}}
heddle.training {beta1 = 0.9 : f32, beta2 = 0.98 : f32, clip_norm = 0.0 : f32, epsilon = 1.0e-9 : f32, preference = "kto",
                 preference_beta = 0.1 : f32, preference_smoothing = 0.0 : f32, token_weights}

// -----

// expected-error @+1 {{expects token_weights with a preference}}
heddle.training {beta1 = 0.9 : f32, beta2 = 0.98 : f32, clip_norm = 0.0 : f32, epsilon = 1.0e-9 : f32, preference = "ipo",
                 preference_beta = 0.1 : f32, preference_smoothing = 0.0 : f32}
