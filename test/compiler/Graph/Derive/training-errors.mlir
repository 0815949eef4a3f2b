// RUN: heddle-opt %s --heddle-derive-training --split-input-file --verify-diagnostics

heddle.task "language" {beam = 1 : i64}
// expected-error @+1 {{trains a model that has no function 'logits'}}
heddle.training {beta1 = 0.9 : f32, beta2 = 0.98 : f32, clip_norm = 0.0 : f32, epsilon = 1.0e-9 : f32}

// -----

#targets = #heddle.dims<"target_tokens">
heddle.task "language" {beam = 1 : i64}
// expected-error @+1 {{trains a model that has no function 'rate', which makes the learning rate}}
heddle.training {beta1 = 0.9 : f32, beta2 = 0.98 : f32, clip_norm = 0.0 : f32, epsilon = 1.0e-9 : f32}
heddle.size @target_tokens max 64
func.func private @logits(%in: tensor<?x10xf32, #targets> {heddle.name = "in"})
    -> (tensor<?x10xf32, #targets> {heddle.name = "logits"}) attributes {heddle.model} {
  return %in : tensor<?x10xf32, #targets>
}
func.func private @loss(%logits: tensor<?x10xf32, #targets> {heddle.name = "logits"})
    -> (tensor<?xf32, #targets> {heddle.name = "token_loss"}) attributes {heddle.model} {
  %loss = heddle.sum columns %logits : tensor<?x10xf32, #targets> -> tensor<?xf32, #targets>
  return %loss : tensor<?xf32, #targets>
}

// -----

#targets = #heddle.dims<"target_tokens">
heddle.task "language" {beam = 1 : i64}
heddle.training {beta1 = 0.9 : f32, beta2 = 0.98 : f32, clip_norm = 0.0 : f32, epsilon = 1.0e-9 : f32}
heddle.size @target_tokens max 64
func.func private @logits(%in: tensor<?x10xf32, #targets> {heddle.name = "in"})
    -> (tensor<?x10xf32, #targets> {heddle.name = "logits"}) attributes {heddle.model} {
  return %in : tensor<?x10xf32, #targets>
}
func.func private @loss(%logits: tensor<?x10xf32, #targets> {heddle.name = "logits"})
    -> (tensor<?xf32, #targets> {heddle.name = "token_loss"}) attributes {heddle.model} {
  %loss = heddle.sum columns %logits : tensor<?x10xf32, #targets> -> tensor<?xf32, #targets>
  return %loss : tensor<?xf32, #targets>
}
// expected-error @+1 {{the model's function 'rate' should make a tensor<1xf32>, the learning rate, of another, the step's number; its type is '(tensor<1xi32>) -> tensor<1xi32>'}}
func.func private @rate(%step: tensor<1xi32>) -> tensor<1xi32> attributes {heddle.model} {
  return %step : tensor<1xi32>
}
