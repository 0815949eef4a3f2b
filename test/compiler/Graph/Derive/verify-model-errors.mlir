// RUN: heddle-opt %s --heddle-verify-model --split-input-file --verify-diagnostics

// expected-error @+1 {{expects one of the tasks translate, language, encode, classify, tag, pair, embed, pretrain, got 'classifies'}}
heddle.task "classifies" {beam = 4 : i64}

// -----

heddle.task "classify" {beam = 1 : i64}
// expected-error @+1 {{is a second one of its kind; a model has one}}
heddle.task "classify" {beam = 1 : i64}

// -----

// expected-error @+1 {{is of a model without variables; declare its weights with heddle.variable}}
heddle.task "classify" {beam = 1 : i64}

// -----

heddle.task "classify" {beam = 1 : i64}
heddle.variable @w weight : tensor<4xf32>
// expected-error @+1 {{the model's function 'logits' should be a single block of ops}}
func.func private @logits(tensor<4xf32> {heddle.name = "in"}) -> (tensor<4xf32> {heddle.name = "logits"}) attributes {heddle.model}

// -----

#targets = #heddle.dims<"target_tokens">
heddle.task "classify" {beam = 1 : i64}
heddle.variable @w weight : tensor<4xf32>
heddle.size @target_tokens max 64
func.func private @logits(%in: tensor<?x10xf32, #targets> {heddle.name = "in"})
    -> (tensor<?x10xf32, #targets> {heddle.name = "logits"}) attributes {heddle.model} {
  return %in : tensor<?x10xf32, #targets>
}
// expected-error @+1 {{'logits' is a 'tensor<?x8xf32, #heddle.dims<"target_tokens">>' here, and a 'tensor<?x10xf32, #heddle.dims<"target_tokens">>' in the model's function 'logits'}}
func.func private @loss(%logits: tensor<?x8xf32, #targets> {heddle.name = "logits"})
    -> (tensor<?xf32, #targets> {heddle.name = "token_loss"}) attributes {heddle.model} {
  %loss = heddle.sum columns %logits : tensor<?x8xf32, #targets> -> tensor<?xf32, #targets>
  return %loss : tensor<?xf32, #targets>
}

// -----

// A result with another name: `eval` needs the logits.
#targets = #heddle.dims<"target_tokens">
heddle.task "classify" {beam = 1 : i64}
heddle.training {beta1 = 0.9 : f32, beta2 = 0.98 : f32, clip_norm = 0.0 : f32, epsilon = 1.0e-9 : f32}
heddle.variable @w weight : tensor<4xf32>
heddle.size @target_tokens max 64
// expected-error @+1 {{the model's function 'logits' has no result 'logits': a row of numbers, or a number, for each answer}}
func.func private @logits(%in: tensor<?x10xf32, #targets> {heddle.name = "in"})
    -> (tensor<?x10xf32, #targets> {heddle.name = "golits"}) attributes {heddle.model} {
  return %in : tensor<?x10xf32, #targets>
}
func.func private @loss(%logits: tensor<?x10xf32, #targets> {heddle.name = "logits"})
    -> (tensor<?xf32, #targets> {heddle.name = "token_loss"}) attributes {heddle.model} {
  %loss = heddle.sum columns %logits : tensor<?x10xf32, #targets> -> tensor<?xf32, #targets>
  return %loss : tensor<?xf32, #targets>
}

// -----

#targets = #heddle.dims<"target_tokens">
heddle.task "classify" {beam = 1 : i64}
heddle.training {beta1 = 0.9 : f32, beta2 = 0.98 : f32, clip_norm = 0.0 : f32, epsilon = 1.0e-9 : f32}
heddle.variable @w weight : tensor<4xf32>
heddle.size @target_tokens max 64
// expected-error @+1 {{the result 'logits' of the model's function 'logits' should be a row of numbers, or a number, for each answer, got 'tensor<?xi32, #heddle.dims<"target_tokens">>'}}
func.func private @logits(%in: tensor<?xi32, #targets> {heddle.name = "in"})
    -> (tensor<?xi32, #targets> {heddle.name = "logits"}) attributes {heddle.model} {
  return %in : tensor<?xi32, #targets>
}
func.func private @loss(%in: tensor<?xf32, #targets> {heddle.name = "losses"})
    -> (tensor<?xf32, #targets> {heddle.name = "token_loss"}) attributes {heddle.model} {
  return %in : tensor<?xf32, #targets>
}

// -----

#targets = #heddle.dims<"target_tokens">
heddle.task "pretrain" {beam = 1 : i64}
heddle.training {beta1 = 0.9 : f32, beta2 = 0.98 : f32, clip_norm = 0.0 : f32, epsilon = 1.0e-9 : f32}
heddle.variable @w weight : tensor<4xf32>
heddle.size @target_tokens max 64
func.func private @logits(%in: tensor<?x10xf32, #targets> {heddle.name = "in"})
    -> (tensor<?x10xf32, #targets> {heddle.name = "logits"}) attributes {heddle.model} {
  return %in : tensor<?x10xf32, #targets>
}
// expected-error @+1 {{the result 'sentence_loss' is of a model that has a function 'next'}}
func.func private @loss(%in: tensor<?xf32, #targets> {heddle.name = "losses"})
    -> (tensor<?xf32, #targets> {heddle.name = "token_loss"}, tensor<?xf32, #targets> {heddle.name = "sentence_loss"}) attributes {heddle.model} {
  return %in, %in : tensor<?xf32, #targets>, tensor<?xf32, #targets>
}

// -----

#targets = #heddle.dims<"target_tokens">
heddle.task "pretrain" {beam = 1 : i64}
heddle.training {beta1 = 0.9 : f32, beta2 = 0.98 : f32, clip_norm = 0.0 : f32, epsilon = 1.0e-9 : f32}
heddle.variable @w weight : tensor<4xf32>
heddle.size @target_tokens max 64
func.func private @logits(%in: tensor<?x10xf32, #targets> {heddle.name = "in"})
    -> (tensor<?x10xf32, #targets> {heddle.name = "logits"}) attributes {heddle.model} {
  return %in : tensor<?x10xf32, #targets>
}
// expected-error @+1 {{the result 'next' of the model's function 'next' should be a row of numbers for each pair of sentences, got 'tensor<?xf32, #heddle.dims<"target_tokens">>'}}
func.func private @next(%in: tensor<?xf32, #targets> {heddle.name = "losses"})
    -> (tensor<?xf32, #targets> {heddle.name = "next"}) attributes {heddle.model} {
  return %in : tensor<?xf32, #targets>
}
func.func private @loss(%in: tensor<?xf32, #targets> {heddle.name = "losses"})
    -> (tensor<?xf32, #targets> {heddle.name = "token_loss"}, tensor<?xf32, #targets> {heddle.name = "sentence_loss"}) attributes {heddle.model} {
  return %in, %in : tensor<?xf32, #targets>, tensor<?xf32, #targets>
}

// -----

#targets = #heddle.dims<"target_tokens">
heddle.task "language" {beam = 1 : i64}
heddle.variable @w weight : tensor<4xf32>
heddle.size @target_tokens max 64
// expected-error @+1 {{decoding a token at a time knows no input 'moods'; it has target_in, target_positions, target_starts and target_lengths, and what the function 'memory' takes and makes}}
func.func private @logits(%in: tensor<?x10xf32, #targets> {heddle.name = "moods"})
    -> (tensor<?x10xf32, #targets> {heddle.name = "logits"}) attributes {heddle.model} {
  return %in : tensor<?x10xf32, #targets>
}

// -----

#targets = #heddle.dims<"target_tokens">
heddle.task "language" {beam = 1 : i64}
heddle.variable @w weight : tensor<4xf32>
heddle.size @target_tokens max 64
// expected-error @+1 {{the input 'target_in' should be a 'tensor<?xi32, #heddle.dims<"target_tokens">>', got 'tensor<?x10xf32, #heddle.dims<"target_tokens">>'}}
func.func private @logits(%in: tensor<?x10xf32, #targets> {heddle.name = "target_in"})
    -> (tensor<?x10xf32, #targets> {heddle.name = "logits"}) attributes {heddle.model} {
  return %in : tensor<?x10xf32, #targets>
}

// -----

// A correct model is unchanged. A module without a task is no model.
#targets = #heddle.dims<"target_tokens">
heddle.task "language" {beam = 1 : i64}
heddle.training {beta1 = 0.9 : f32, beta2 = 0.98 : f32, clip_norm = 0.0 : f32, epsilon = 1.0e-9 : f32}
heddle.variable @table weight : tensor<10x10xf32>
heddle.size @target_tokens max 64
func.func private @logits(%in: tensor<?xi32, #targets> {heddle.name = "target_in"})
    -> (tensor<?x10xf32, #targets> {heddle.name = "logits"}) attributes {heddle.model} {
  %table = heddle.read @table : tensor<10x10xf32>
  %rows = heddle.embedding %in, %table : tensor<?xi32, #targets>, tensor<10x10xf32> -> tensor<?x10xf32, #targets>
  return %rows : tensor<?x10xf32, #targets>
}
func.func private @loss(%logits: tensor<?x10xf32, #targets> {heddle.name = "logits"})
    -> (tensor<?xf32, #targets> {heddle.name = "token_loss"}) attributes {heddle.model} {
  %loss = heddle.sum columns %logits : tensor<?x10xf32, #targets> -> tensor<?xf32, #targets>
  return %loss : tensor<?xf32, #targets>
}

// -----

func.func @free(%in: tensor<4xf32> {heddle.name = "in"}) -> (tensor<4xf32> {heddle.name = "out"}) {
  return %in : tensor<4xf32>
}
