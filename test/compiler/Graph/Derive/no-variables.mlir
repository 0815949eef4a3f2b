// A model whose functions need no variables: the ops that the passes add come before the functions.
// RUN: heddle-opt %s --heddle-derive-training | FileCheck %s --check-prefix=TRAIN
// RUN: heddle-opt %s --heddle-derive-decoding | FileCheck %s --check-prefix=STEP
// RUN: heddle-opt %s --heddle-derive-init | FileCheck %s --check-prefix=INIT

// TRAIN: heddle.variable @micro_step counter as micro_steps
// TRAIN: func.func @accumulate_step
// STEP: heddle.size @cache_length max 16 longest "cache_lengths"
// STEP: heddle.variable @cache.history cache
// STEP: func.func @decode_step
// INIT: heddle.variable @seed counter as seed : tensor<2xi32>
// INIT: func.func @init()
#targets = #heddle.dims<"target_tokens">
heddle.task "language" {beam = 1 : i64}
heddle.training {accumulate, beta1 = 0.9 : f32, beta2 = 0.98 : f32, clip_norm = 0.0 : f32, epsilon = 1.0e-9 : f32}
heddle.size @target_tokens max 64
heddle.size @sequences max 8
heddle.size @target_length max 16 longest "target_lengths"
func.func private @logits(%in: tensor<?xi32, #targets> {heddle.name = "target_in"})
    -> (tensor<?x10xf32, #targets> {heddle.name = "logits"}) attributes {heddle.model} {
  %column = arith.sitofp %in : tensor<?xi32, #targets> to tensor<?xf32, #targets>
  %logits = heddle.broadcast %column : tensor<?xf32, #targets> to tensor<?x10xf32, #targets>
  return %logits : tensor<?x10xf32, #targets>
}
func.func private @loss(%logits: tensor<?x10xf32, #targets> {heddle.name = "logits"})
    -> (tensor<?xf32, #targets> {heddle.name = "token_loss"}) attributes {heddle.model} {
  %loss = heddle.sum columns %logits : tensor<?x10xf32, #targets> -> tensor<?xf32, #targets>
  return %loss : tensor<?xf32, #targets>
}
func.func private @rate(%step: tensor<1xf32> {heddle.name = "step"}) -> (tensor<1xf32> {heddle.name = "rate"})
    attributes {heddle.model} {
  return %step : tensor<1xf32>
}
