// Ops that cannot be computed token by token are reported at their lines.
// RUN: heddle-opt %s --heddle-derive-decoding --split-input-file --verify-diagnostics

#targets = #heddle.dims<"target_tokens">
#sequences = #heddle.dims<"sequences">
heddle.task "language" {beam = 1 : i64}
heddle.size @target_tokens max 64
heddle.size @sequences max 8
heddle.size @target_length max 16 longest "target_lengths"
heddle.variable @seed counter : tensor<2xi32>

func.func private @logits(%in: tensor<?xi32, #targets> {heddle.name = "target_in"},
                          %starts: tensor<?xi32, #sequences> {heddle.name = "target_starts"},
                          %lengths: tensor<?xi32, #sequences> {heddle.name = "target_lengths"})
    -> (tensor<?x4xf32, #targets> {heddle.name = "logits"}) attributes {heddle.model} {
  %x = heddle.fill 1.0 : f32 : tensor<?x4xf32, #targets>
  // expected-error @+1 {{a token sees tokens after it here, which decoding does not know yet; mask the scores with key <= query}}
  %scores = heddle.scores %x, %x queries(%starts, %lengths) keys(%starts, %lengths) {key_size = "target_length", query_size = "target_length"}
      : (tensor<?x4xf32, #targets>, tensor<?x4xf32, #targets>, tensor<?xi32, #sequences>, tensor<?xi32, #sequences>, tensor<?xi32, #sequences>, tensor<?xi32, #sequences>) -> tensor<?x2x16xf32, #targets>
  %weights = heddle.softmax %scores : tensor<?x2x16xf32, #targets>
  %context = heddle.context %weights, %x queries(%starts, %lengths) keys(%starts, %lengths) {key_size = "target_length", query_size = "target_length"}
      : (tensor<?x2x16xf32, #targets>, tensor<?x4xf32, #targets>, tensor<?xi32, #sequences>, tensor<?xi32, #sequences>, tensor<?xi32, #sequences>, tensor<?xi32, #sequences>) -> tensor<?x4xf32, #targets>
  return %context : tensor<?x4xf32, #targets>
}

// -----

#targets = #heddle.dims<"target_tokens">
#sequences = #heddle.dims<"sequences">
heddle.task "language" {beam = 1 : i64}
heddle.size @target_tokens max 64
heddle.size @sequences max 8
heddle.size @target_length max 16 longest "target_lengths"
heddle.variable @seed counter : tensor<2xi32>

func.func private @logits(%in: tensor<?xi32, #targets> {heddle.name = "target_in"})
    -> (tensor<?x4xf32, #targets> {heddle.name = "logits"}) attributes {heddle.model} {
  %x = heddle.fill 1.0 : f32 : tensor<?x4xf32, #targets>
  // expected-error @+1 {{heddle.sum cannot be computed a token at a time, as decoding does; of a sequence's tokens, attention alone looks at several}}
  %sums = heddle.sum rows %x : tensor<?x4xf32, #targets> -> tensor<4xf32>
  %y = heddle.broadcast %sums : tensor<4xf32> to tensor<?x4xf32, #targets>
  return %y : tensor<?x4xf32, #targets>
}

// -----

#sources = #heddle.dims<"source_tokens">
#targets = #heddle.dims<"target_tokens">
#sequences = #heddle.dims<"sequences">
heddle.task "translate" {beam = 1 : i64}
heddle.size @source_tokens max 64
heddle.size @target_tokens max 64
heddle.size @sequences max 8
heddle.size @target_length max 16 longest "target_lengths"
heddle.variable @seed counter : tensor<2xi32>

func.func private @memory(%in: tensor<?xi32, #sources> {heddle.name = "source"})
    -> (tensor<?x4xf32, #sources> {heddle.name = "memory"}) attributes {heddle.model} {
  %x = heddle.fill 1.0 : f32 : tensor<?x4xf32, #sources>
  return %x : tensor<?x4xf32, #sources>
}
func.func private @logits(%in: tensor<?xi32, #targets> {heddle.name = "target_in"}, %memory: tensor<?x4xf32, #sources> {heddle.name = "memory"})
    -> (tensor<?x4xf32, #targets> {heddle.name = "logits"}) attributes {heddle.model} {
  // expected-error @+1 {{decoding reads the memory through attention alone, a token at a time, and this op takes its rows directly}}
  %y = heddle.embedding %in, %memory : tensor<?xi32, #targets>, tensor<?x4xf32, #sources> -> tensor<?x4xf32, #targets>
  return %y : tensor<?x4xf32, #targets>
}

// -----

#sources = #heddle.dims<"source_tokens">
#targets = #heddle.dims<"target_tokens">
heddle.task "translate" {beam = 1 : i64}
heddle.size @source_tokens max 64
heddle.size @target_tokens max 64
heddle.size @sequences max 8
heddle.size @target_length max 16 longest "target_lengths"
heddle.variable @seed counter : tensor<2xi32>

func.func private @memory(%in: tensor<?x4xf32, #sources> {heddle.name = "source"})
    -> (tensor<4xf32> {heddle.name = "mood"}) attributes {heddle.model} {
  %sums = heddle.sum rows %in : tensor<?x4xf32, #sources> -> tensor<4xf32>
  return %sums : tensor<4xf32>
}
func.func private @logits(%mood: tensor<4xf32> {heddle.name = "mood"})
    -> (tensor<?x4xf32, #targets> {heddle.name = "logits"}) attributes {heddle.model} {
  // expected-error @+1 {{decoding a token at a time keeps rows of the memory, and this op takes a 'tensor<4xf32>' that is made of it and has none}}
  %y = heddle.broadcast %mood : tensor<4xf32> to tensor<?x4xf32, #targets>
  return %y : tensor<?x4xf32, #targets>
}
