// A language model with one layer: the result of each pass.
// RUN: heddle-opt %s --heddle-derive-training | FileCheck %s --check-prefix=TRAIN
// RUN: sed 's/heddle.training {accumulate,/heddle.training {accumulate, token_weights,/' %s > %t.weighed.mlir
// RUN: heddle-opt %t.weighed.mlir --heddle-derive-training | FileCheck %s --check-prefix=WEIGHED
// RUN: heddle-opt %s --heddle-derive-evaluation | FileCheck %s --check-prefix=LOGITS
// RUN: heddle-opt %s --heddle-derive-decoding | FileCheck %s --check-prefix=STEP
// RUN: heddle-opt %s --heddle-derive-explanation | FileCheck %s --check-prefix=EXPLAIN
// RUN: heddle-opt %s --heddle-derive-init | FileCheck %s --check-prefix=INIT

#targets = #heddle.dims<"target_tokens">
#sequences = #heddle.dims<"sequences">

heddle.task "language" {beam = 3 : i64, explain, logits_entry, padding = 9 : i64}
heddle.training {accumulate, beta1 = 0.9 : f32, beta2 = 0.98 : f32, clip_norm = 0.0 : f32, epsilon = 1.0e-9 : f32}
heddle.size @target_tokens max 64
heddle.size @sequences max 8
heddle.size @target_length max 16 longest "target_lengths"
heddle.variable @step counter as steps : tensor<1xi32> {start = #heddle.start<constant 0.0>}
heddle.variable @seed counter : tensor<2xi32>
heddle.variable @table weight : tensor<10x4xf32> {start = #heddle.start<normal 0.5>}

func.func private @logits(%in: tensor<?xi32, #targets> {heddle.name = "target_in", heddle.limit = 10 : i64},
                          %positions: tensor<?xi32, #targets> {heddle.name = "target_positions", heddle.limit = 16 : i64},
                          %starts: tensor<?xi32, #sequences> {heddle.name = "target_starts", heddle.limit = 65 : i64},
                          %lengths: tensor<?xi32, #sequences> {heddle.name = "target_lengths", heddle.limit = 17 : i64})
    -> (tensor<?x10xf32, #targets> {heddle.name = "logits"}) attributes {heddle.model} {
  %table = heddle.read @table : tensor<10x4xf32>
  %rows = heddle.embedding %in, %table : tensor<?xi32, #targets>, tensor<10x4xf32> -> tensor<?x4xf32, #targets>
  %seed = heddle.read @seed : tensor<2xi32>
  %step = heddle.read @step : tensor<1xi32>
  %x = heddle.dropout %rows seed %seed step %step {rate = 0.1 : f32, stream = 0 : i32} : tensor<?x4xf32, #targets>
  %key = arith.addf %x, %x : tensor<?x4xf32, #targets> loc("layer.key"("model.weft":3:5))
  %position, %sequence = heddle.locate rows(%starts, %lengths) {row_size = "target_length"} : tensor<?xi32, #sequences> -> tensor<?xi32, #targets>
  %scores = heddle.scores %x, %key queries(%starts, %lengths) keys(%starts, %lengths) {key_size = "target_length", query_size = "target_length"}
      : (tensor<?x4xf32, #targets>, tensor<?x4xf32, #targets>, tensor<?xi32, #sequences>, tensor<?xi32, #sequences>, tensor<?xi32, #sequences>, tensor<?xi32, #sequences>) -> tensor<?x2x16xf32, #targets>
  %masked = heddle.mask %scores at(%position, %sequence) keys(%lengths) mask {
  ^bb0(%i: i32, %j: i32):
    %causal = arith.cmpi sle, %j, %i : i32
    %three = arith.constant 3 : i32
    %distance = arith.subi %i, %j : i32
    %near = arith.cmpi sle, %distance, %three : i32
    %both = arith.andi %causal, %near : i1
    heddle.yield %both : i1
  } {value = 0xFF800000 : f32} : tensor<?x2x16xf32, #targets>, tensor<?xi32, #targets>, tensor<?xi32, #sequences>
  %weights = heddle.softmax %masked : tensor<?x2x16xf32, #targets>
  %context = heddle.context %weights, %key queries(%starts, %lengths) keys(%starts, %lengths) {key_size = "target_length", query_size = "target_length"}
      : (tensor<?x2x16xf32, #targets>, tensor<?x4xf32, #targets>, tensor<?xi32, #sequences>, tensor<?xi32, #sequences>, tensor<?xi32, #sequences>, tensor<?xi32, #sequences>) -> tensor<?x4xf32, #targets> loc("layer.self.context"("model.weft":4:5))
  %logits = heddle.matmul %context, %table {transpose_rhs} : tensor<?x4xf32, #targets>, tensor<10x4xf32> -> tensor<?x10xf32, #targets>
  return %logits : tensor<?x10xf32, #targets>
}

func.func private @rate(%step: tensor<1xf32> {heddle.name = "step"}) -> (tensor<1xf32> {heddle.name = "rate"})
    attributes {heddle.model} {
  %half = heddle.fill 0.5 : f32 : tensor<1xf32>
  %rate = arith.divf %half, %step : tensor<1xf32>
  return %rate : tensor<1xf32>
}

func.func private @loss(%logits: tensor<?x10xf32, #targets> {heddle.name = "logits"},
                        %out: tensor<?xi32, #targets> {heddle.name = "target_out", heddle.limit = 10 : i64})
    -> (tensor<?xf32, #targets> {heddle.name = "token_loss"}) attributes {heddle.model} {
  %loss, %lse = heddle.cross_entropy %logits, %out {smoothing = 0.2 : f32} : tensor<?x10xf32, #targets>, tensor<?xi32, #targets> -> tensor<?xf32, #targets>
  return %loss : tensor<?xf32, #targets>
}

// Each weight gets state. Only training has dropout, with a counter of its own if steps accumulate gradients.
// TRAIN: heddle.variable @micro_step counter as micro_steps
// TRAIN: heddle.variable @table weight
// TRAIN-NEXT: heddle.variable @adam.m.table optimizer_state of @table as first_moment : tensor<10x4xf32> {start = #heddle.start<constant 0.0
// TRAIN-NEXT: heddle.variable @adam.v.table optimizer_state of @table as second_moment
// TRAIN-NEXT: heddle.variable @grad.table gradient of @table as gradient
// TRAIN: func.func @train_step({{.*}}"target_in"{{.*}}"target_out"{{.*}}"target_positions"{{.*}}"target_starts"{{.*}}"target_lengths"{{.*}}"token_scale"
// TRAIN-SAME: -> (tensor<1xf32> {heddle.name = "loss"}, tensor<1xf32> {heddle.name = "learning_rate"})
// TRAIN: heddle.read @step
// TRAIN: heddle.dropout
// TRAIN: heddle.cross_entropy {{.*}} {smoothing = 2.000000e-01 : f32}
// TRAIN: heddle.sum
// TRAIN: heddle.minimize {{.*}} rate {
// TRAIN-NEXT: ^bb0(%[[S:.*]]: tensor<1xf32>):
// TRAIN-NEXT: %[[HALF:.*]] = heddle.fill 5.000000e-01
// TRAIN-NEXT: %[[RATE:.*]] = arith.divf %[[HALF]], %[[S]]
// TRAIN-NEXT: heddle.yield %[[RATE]]
// WEIGHED: func.func @train_step({{.*}}"token_scale"{{.*}}%[[WEIGHTS:[a-z0-9]*]]: tensor<?xf32, #heddle.dims<"target_tokens">> {heddle.name = "token_weights"}
// WEIGHED: heddle.cross_entropy
// WEIGHED: %[[SCALED:.*]] = arith.mulf
// WEIGHED: %[[WEIGHED:.*]] = arith.mulf %[[SCALED]], %[[WEIGHTS]]
// WEIGHED: heddle.sum rows %[[WEIGHED]]
// WEIGHED: func.func @accumulate_step({{.*}}"token_weights"
// WEIGHED: func.func @eval(
// WEIGHED-NOT: token_weights
// TRAIN: func.func @accumulate_step(
// TRAIN: %[[MICRO:.*]] = heddle.read @micro_step
// TRAIN: heddle.dropout {{.*}} step %[[MICRO]]
// TRAIN: heddle.accumulate
// TRAIN: heddle.write @micro_step
// TRAIN: func.func @apply_step() -> (tensor<1xf32> {heddle.name = "learning_rate"})
// TRAIN: heddle.apply {{.*}} rate {
// TRAIN: arith.divf
// TRAIN: func.func @eval(
// TRAIN-NOT: heddle.dropout
// TRAIN: heddle.cross_entropy {{.*}} {smoothing = 0.000000e+00 : f32}

// The model's function is renamed, because the entry takes its name.
// LOGITS: func.func private @model.logits(
// LOGITS: func.func @logits({{.*}}"target_in"{{.*}}"target_lengths"{{.*}}-> (tensor<?x10xf32, #{{.*}}> {heddle.name = "logits"})
// LOGITS-NOT: heddle.read @seed
// LOGITS-NOT: heddle.dropout
// LOGITS: heddle.softmax

// Rows are those of sequences, not tokens. Keys and values are one value here, so they have one cache. It holds the
// last four tokens.
// STEP: heddle.size @cache_length max 16 longest "cache_lengths"
// STEP: heddle.size @groups max 8
// STEP: heddle.size @beam max 3 longest "group_lengths"
// STEP: heddle.variable @cache.layer.key cache : tensor<64x4xf32>
// STEP-NOT: heddle.variable @cache.layer
// STEP: heddle.variable @cache.history cache : tensor<8x16xi32>
// STEP: func.func @decode_step(%[[TOKEN:.*]]: tensor<?xi32, #[[S:.*]]> {heddle.limit = 10 : i64, heddle.name = "token"}
// STEP-SAME: heddle.limit = 64 : i64, heddle.name = "cache_rows"
// STEP: %[[ROWS:.*]] = heddle.embedding %[[TOKEN]], {{.*}} -> tensor<?x4xf32, #[[S]]>
// STEP: %[[KEY:.*]] = arith.addf %[[ROWS]], %[[ROWS]] : tensor<?x4xf32, #[[S]]>
// STEP: %[[KEPT:.*]] = heddle.scatter_rows %{{.*}}, %{{.*}}, %[[KEY]]
// STEP: heddle.write @cache.layer.key, %[[KEPT]]
// STEP: %[[FOUR:.*]] = heddle.fill 4 : i32
// STEP: %[[SEEN:.*]] = arith.minsi %{{.*}}, %[[FOUR]]
// STEP: %[[HIDDEN:.*]] = arith.subi
// STEP: %[[FIRST:.*]] = arith.addi %{{.*}}, %[[HIDDEN]]
// STEP: heddle.scores %[[ROWS]], %[[KEPT]] queries(%{{.*}}) keys(%[[FIRST]], %[[SEEN]]) {key_size = "cache_length", query_size = ""}
// STEP: heddle.mask %{{.*}} at(%{{.*}}) keys(%[[SEEN]]) {value
// STEP: heddle.context %{{.*}}, %[[KEPT]] {{.*}} keys(%[[FIRST]], %[[SEEN]])
// Padding is never chosen as an answer.
// STEP: heddle.fill 9 : i32
// STEP: arith.select
// STEP: heddle.argmax
// STEP: func.func @beam_step(
// STEP: %[[HISTORY:.*]] = arith.select
// STEP: heddle.write @cache.history
// STEP: heddle.scores %{{.*}} rows(%[[HISTORY]])
// STEP: heddle.context %{{.*}} rows(%[[HISTORY]])
// STEP: heddle.top_k {{.*}} {row_size = "beam"}

// EXPLAIN: func.func @explain({{.*}}heddle.limit = 3 : i64, heddle.name = "target_slots"
// EXPLAIN-SAME: {heddle.name = "weights.target.layer.self"})
// EXPLAIN: %[[ONES:.*]] = arith.select
// EXPLAIN: %[[SOFTMAX:.*]] = heddle.softmax
// EXPLAIN: heddle.context %[[SOFTMAX]]
// EXPLAIN: %[[AGAIN:.*]] = heddle.softmax
// EXPLAIN: heddle.context %[[AGAIN]], %[[ONES]]

// INIT-NOT: heddle.task
// INIT-NOT: heddle.training
// INIT: heddle.variable @table weight : tensor<10x4xf32>{{$}}
// INIT-NOT: heddle.model
// INIT: func.func @init()
// INIT: %[[SEED:.*]] = heddle.read @seed
// INIT: %[[ZERO:.*]] = heddle.fill 0 : i32
// INIT: heddle.write @step, %[[ZERO]]
// INIT: %[[DRAWN:.*]] = heddle.random normal %[[SEED]] {scale = 5.000000e-01 : f32, stream = 1 : i32}
// INIT: heddle.write @table, %[[DRAWN]]
