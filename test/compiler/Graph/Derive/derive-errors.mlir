// Each pass reports the ops that it cannot put into an entry.
// RUN: heddle-opt %s --heddle-derive-evaluation --split-input-file --verify-diagnostics
// RUN: heddle-opt %s --heddle-derive-explanation --split-input-file --verify-diagnostics
// RUN: heddle-opt %s --heddle-derive-decoding --split-input-file --verify-diagnostics
// RUN: heddle-opt %s --heddle-derive-training --split-input-file --verify-diagnostics
// RUN: heddle-opt %s --heddle-verify-model --split-input-file --verify-diagnostics

heddle.task "language" {beam = 1 : i64, explain, logits_entry}
heddle.training {beta1 = 0.9 : f32, beta2 = 0.98 : f32, clip_norm = 0.0 : f32, epsilon = 1.0e-9 : f32}
heddle.variable @w weight : tensor<4xf32>
// expected-error @+1 {{the model's function 'logits' should be a single block of ops}}
func.func private @logits(tensor<4xf32> {heddle.name = "in"}) -> (tensor<4xf32> {heddle.name = "logits"}) attributes {heddle.model}
func.func private @loss(%in: tensor<4xf32> {heddle.name = "logits"}) -> (tensor<4xf32> {heddle.name = "token_loss"}) attributes {heddle.model} {
  return %in : tensor<4xf32>
}

// -----

heddle.task "language" {beam = 1 : i64, explain, logits_entry}
heddle.training {beta1 = 0.9 : f32, beta2 = 0.98 : f32, clip_norm = 0.0 : f32, epsilon = 1.0e-9 : f32}
heddle.variable @w weight : tensor<4xf32>
// expected-error @+1 {{argument 0 of the model's function 'logits' should be a tensor with a heddle.name, got 'tensor<4xf32>'}}
func.func private @logits(%in: tensor<4xf32>) -> (tensor<4xf32> {heddle.name = "logits"}) attributes {heddle.model} {
  return %in : tensor<4xf32>
}
func.func private @loss(%in: tensor<4xf32> {heddle.name = "logits"}) -> (tensor<4xf32> {heddle.name = "token_loss"}) attributes {heddle.model} {
  return %in : tensor<4xf32>
}

// -----

heddle.task "language" {beam = 1 : i64, explain, logits_entry}
heddle.training {beta1 = 0.9 : f32, beta2 = 0.98 : f32, clip_norm = 0.0 : f32, epsilon = 1.0e-9 : f32}
heddle.variable @w weight : tensor<4xf32>
// expected-error @+1 {{argument 0 of the model's function 'logits' should be a tensor with a heddle.name, got 'f32'}}
func.func private @logits(%in: f32 {heddle.name = "in"}) -> (f32 {heddle.name = "logits"}) attributes {heddle.model} {
  return %in : f32
}
func.func private @loss(%in: tensor<4xf32> {heddle.name = "logits"}) -> (tensor<4xf32> {heddle.name = "token_loss"}) attributes {heddle.model} {
  return %in : tensor<4xf32>
}
