// RUN: heddle-opt %s --heddle-differentiate --split-input-file --verify-diagnostics

heddle.variable @w weight : tensor<4x8xf32>

func.func @no_rule() {
  %w = heddle.read @w : tensor<4x8xf32>
  // expected-error @+1 {{'math.sin' op has no gradient rule, but the loss depends on a weight through it}}
  %m = math.sin %w : tensor<4x8xf32>
  %r = heddle.sum rows %m : tensor<4x8xf32> -> tensor<8xf32>
  %loss = heddle.sum columns %r : tensor<8xf32> -> tensor<1xf32>
  heddle.accumulate %loss
  return
}

// -----

heddle.variable @w weight : tensor<8xf32>

func.func @no_weight(%x: tensor<8xf32>) {
  %w = heddle.read @w : tensor<8xf32>
  %loss = heddle.sum columns %x : tensor<8xf32> -> tensor<1xf32>
  // expected-error @+1 {{has a loss that does not depend on any weight}}
  heddle.accumulate %loss
  return
}

// -----

heddle.variable @w weight : tensor<8xf32>

func.func @no_gradient_variable() {
  %w = heddle.read @w : tensor<8xf32>
  %loss = heddle.sum columns %w : tensor<8xf32> -> tensor<1xf32>
  // expected-error @+1 {{needs a variable of @"w" as gradient, of type 'tensor<8xf32>', but the module has none; declare it}}
  heddle.accumulate %loss
  return
}

// -----

heddle.variable @step counter as steps : tensor<2xi32>
heddle.variable @w weight : tensor<8xf32>

func.func @counter_of_another_type() {
  %w = heddle.read @w : tensor<8xf32>
  %loss = heddle.sum columns %w : tensor<8xf32> -> tensor<1xf32>
  // expected-error @+1 {{needs a variable as steps, of type 'tensor<1xi32>', but @"step" is 'tensor<2xi32>'}}
  heddle.minimize %loss {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32, clip_norm = 0.0 : f32} rate {
  ^bb0(%s: tensor<1xf32>):
    heddle.yield %s : tensor<1xf32>
  }
  return
}

// -----

heddle.variable @w weight : tensor<8xf32>

func.func @no_counter() {
  %w = heddle.read @w : tensor<8xf32>
  %loss = heddle.sum columns %w : tensor<8xf32> -> tensor<1xf32>
  // expected-error @+1 {{needs a variable as steps, of type 'tensor<1xi32>', but the module has none; declare it}}
  heddle.minimize %loss {beta1 = 0.9 : f32, beta2 = 0.98 : f32,
                         epsilon = 1.0e-9 : f32, clip_norm = 0.0 : f32} rate {
  ^bb0(%s: tensor<1xf32>):
    %peak = heddle.fill 1.0e-3 : f32 : tensor<1xf32>
    heddle.yield %peak : tensor<1xf32>
  }
  return
}

// -----

heddle.variable @step counter as steps : tensor<1xi32>
heddle.variable @w weight : tensor<8xf32>
heddle.variable @adam.m.w optimizer_state of @w as first_moment : tensor<8xf32>

func.func @no_moment() {
  %w = heddle.read @w : tensor<8xf32>
  %loss = heddle.sum columns %w : tensor<8xf32> -> tensor<1xf32>
  // expected-error @+1 {{needs a variable of @"w" as second_moment, of type 'tensor<8xf32>'}}
  heddle.minimize %loss {beta1 = 0.9 : f32, beta2 = 0.98 : f32,
                         epsilon = 1.0e-9 : f32, clip_norm = 0.0 : f32} rate {
  ^bb0(%s: tensor<1xf32>):
    %peak = heddle.fill 1.0e-3 : f32 : tensor<1xf32>
    heddle.yield %peak : tensor<1xf32>
  }
  return
}

// -----

heddle.variable @w weight : tensor<8xf32>

func.func @nothing_to_apply() {
  // expected-error @+1 {{finds no weight with a variable as gradient to apply}}
  heddle.apply {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32,
                clip_norm = 0.0 : f32} rate {
  ^bb0(%s: tensor<1xf32>):
    %peak = heddle.fill 1.0e-3 : f32 : tensor<1xf32>
    heddle.yield %peak : tensor<1xf32>
  }
  return
}

// -----

heddle.variable @w weight : tensor<8xf32>
heddle.variable @grad.w gradient of @w as gradient : tensor<8xf32>

func.func @two_roots() {
  %w = heddle.read @w : tensor<8xf32>
  %loss = heddle.sum columns %w : tensor<8xf32> -> tensor<1xf32>
  heddle.accumulate %loss
  // expected-error @+1 {{is a second root of differentiation in this function; split it into two entries}}
  heddle.accumulate %loss
  return
}

// -----

heddle.variable @w weight : tensor<8xf32>

func.func @control_flow(%c: i1) {
  %w = heddle.read @w : tensor<8xf32>
  %loss = heddle.sum columns %w : tensor<8xf32> -> tensor<1xf32>
  scf.if %c {
    // expected-error @+1 {{differentiates straight-line code only}}
    heddle.accumulate %loss
  }
  return
}

// -----

!y = tensor<?x4xf32, #heddle.dims<"tokens">>
!column = tensor<?xf32, #heddle.dims<"tokens">>
heddle.variable @w weight : tensor<8x4xf32>

func.func @log_sum_exp(%x: tensor<?x8xf32, #heddle.dims<"tokens">>, %t: tensor<?xi32, #heddle.dims<"tokens">>) {
  %w = heddle.read @w : tensor<8x4xf32>
  %logits = heddle.matmul %x, %w : tensor<?x8xf32, #heddle.dims<"tokens">>, tensor<8x4xf32> -> !y
  // expected-error @+1 {{has a gradient rule for its first result only, but the loss depends on another result}}
  %losses, %lse = heddle.cross_entropy %logits, %t {smoothing = 0.0 : f32} : !y, tensor<?xi32, #heddle.dims<"tokens">> -> !column
  %loss = heddle.sum rows %lse : !column -> tensor<1xf32>
  heddle.accumulate %loss
  return
}

// -----

heddle.variable @w weight : tensor<4x8xf32>

func.func @static_column() {
  %w = heddle.read @w : tensor<4x8xf32>
  // expected-error @+1 {{has no gradient rule for a sum from 'tensor<4x8xf32>' to 'tensor<4xf32>'}}
  %s = heddle.sum columns %w : tensor<4x8xf32> -> tensor<4xf32>
  %loss = heddle.sum columns %s : tensor<4xf32> -> tensor<1xf32>
  heddle.accumulate %loss
  return
}

// -----

heddle.variable @w weight : tensor<4x8xf32>

func.func @static_rows(%g: tensor<8xf32>) {
  %w = heddle.read @w : tensor<4x8xf32>
  // expected-error @+1 {{has no gradient rule for a static number of rows, as in 'tensor<4x8xf32>'}}
  %y, %mean, %rstd = heddle.layer_norm %w, %g, %g {epsilon = 1.0e-6 : f32} : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<4xf32>
  %r = heddle.sum rows %y : tensor<4x8xf32> -> tensor<8xf32>
  %loss = heddle.sum columns %r : tensor<8xf32> -> tensor<1xf32>
  heddle.accumulate %loss
  return
}

// -----

!cache = tensor<64x8xf32>
!tokens = tensor<?x8xf32, #heddle.dims<"tokens">>
!scores = tensor<?x2x16xf32, #heddle.dims<"tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
heddle.variable @w weight : tensor<8x8xf32>

func.func @gathered_keys(%x: !tokens, %cache: !cache, %rows: tensor<?x16xi32, #heddle.dims<"sequences">>, %s: !segments) {
  %w = heddle.read @w : tensor<8x8xf32>
  %q = heddle.matmul %x, %w : !tokens, tensor<8x8xf32> -> !tokens
  // expected-error @+1 {{has no gradient rule where keys are no neighbours and their users are not given}}
  %p = heddle.scores %q, %cache rows(%rows) queries(%s, %s) keys(%s, %s) {query_size = "", key_size = "length"}
    : (!tokens, !cache, tensor<?x16xi32, #heddle.dims<"sequences">>, !segments, !segments, !segments, !segments) -> !scores
  %o = heddle.context %p, %cache queries(%s, %s) keys(%s, %s) {query_size = "", key_size = "length"}
    : (!scores, !cache, !segments, !segments, !segments, !segments) -> !tokens
  %r = heddle.sum rows %o : !tokens -> tensor<8xf32>
  %loss = heddle.sum columns %r : tensor<8xf32> -> tensor<1xf32>
  heddle.accumulate %loss
  return
}

// -----

!tokens = tensor<?x8xf32, #heddle.dims<"tokens">>
heddle.variable @w weight : tensor<8x8xf32>

func.func @score_without_rule(%x: !tokens, %s: tensor<2xi32>) {
  %w = heddle.read @w : tensor<8x8xf32>
  %q = heddle.matmul %x, %w : !tokens, tensor<8x8xf32> -> !tokens
  %y, %lse = heddle.attention %q, %q, %q queries(%s, %s) keys(%s, %s) score {
  ^bb0(%score: f32, %query: i32, %key: i32, %head: i32):
    // expected-error @+1 {{has no gradient rule, but the loss depends on a weight through it}}
    %sine = math.sin %score : f32
    heddle.yield %sine : f32
  } {heads = 2 : i64, scale = 0.5 : f32, query_size = "length", key_size = "length"}
    : (!tokens, !tokens, !tokens, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (!tokens, tensor<?x2xf32, #heddle.dims<"tokens">>)
  %r = heddle.sum rows %y : !tokens -> tensor<8xf32>
  %loss = heddle.sum columns %r : tensor<8xf32> -> tensor<1xf32>
  heddle.accumulate %loss
  return
}

// -----

heddle.variable @w weight : tensor<8xf32>

func.func @no_scale() {
  %w = heddle.read @w : tensor<8xf32>
  %loss = heddle.sum columns %w : tensor<8xf32> -> tensor<1xf32>
  // expected-error @+1 {{needs a variable as loss_scale, of type 'tensor<1xf32>', but the module has none; declare it}}
  heddle.accumulate %loss {scaled}
  return
}

// -----

heddle.variable @step counter as steps : tensor<1xi32>
heddle.variable @w weight : tensor<8xf32>
heddle.variable @adam.m.w optimizer_state of @w as first_moment : tensor<8xf32>
heddle.variable @adam.v.w optimizer_state of @w as second_moment : tensor<8xf32>

func.func @no_average() {
  %w = heddle.read @w : tensor<8xf32>
  %loss = heddle.sum columns %w : tensor<8xf32> -> tensor<1xf32>
  // expected-error @+1 {{needs a variable of @"w" as average, of type 'tensor<8xf32>', but the module has none; declare it}}
  %rate = heddle.minimize %loss {beta1 = 0.9 : f32, beta2 = 0.98 : f32,
                                 epsilon = 1.0e-9 : f32, clip_norm = 0.0 : f32, average_decay = 0.9 : f32} rate {
  ^bb0(%s: tensor<1xf32>):
    %peak = heddle.fill 1.0e-3 : f32 : tensor<1xf32>
    heddle.yield %peak : tensor<1xf32>
  }
  return
}

// -----

// Arithmetic inside a region also reports its line.
#n = #heddle.dims<"n">
#s = #heddle.dims<"s">
heddle.size @n max 64
heddle.size @s max 8
heddle.size @length max 16
heddle.variable @v weight : tensor<8xf32>
heddle.variable @grad.v gradient of @v as gradient : tensor<8xf32>
func.func @no_rule_in_a_region(%x: tensor<?x8xf32, #n>, %s: tensor<?xi32, #s>, %l: tensor<?xi32, #s>) {
  %v = heddle.read @v : tensor<8xf32>
  %scores = heddle.scores %x, %x parameters(%v) queries(%s, %l) keys(%s, %l) combine {
  ^bb0(%a: f32, %b: f32, %w: f32):
    // expected-error @+1 {{'math.atan' op has no gradient rule, but the loss depends on a weight through it}}
    %0 = math.atan %w : f32
    heddle.yield %0 : f32
  } {query_size = "length", key_size = "length"}
    : (tensor<?x8xf32, #n>, tensor<?x8xf32, #n>, tensor<8xf32>, tensor<?xi32, #s>, tensor<?xi32, #s>, tensor<?xi32, #s>, tensor<?xi32, #s>) -> tensor<?x1x16xf32, #n>
  %sums = heddle.sum columns %scores : tensor<?x1x16xf32, #n> -> tensor<?xf32, #n>
  %loss = heddle.sum rows %sums : tensor<?xf32, #n> -> tensor<1xf32>
  heddle.accumulate %loss
  return
}

// -----

// Lists of keys are for decoding only.
#n = #heddle.dims<"n">
#s = #heddle.dims<"s">
heddle.size @n max 64
heddle.size @s max 8
heddle.size @length max 16
heddle.variable @w weight : tensor<8x8xf32>
heddle.variable @grad.w gradient of @w as gradient : tensor<8x8xf32>
func.func @listed_keys(%x: tensor<?x8xf32, #n>, %s: tensor<?xi32, #s>, %l: tensor<?xi32, #s>, %rows: tensor<?x16xi32, #s>) {
  %w = heddle.read @w : tensor<8x8xf32>
  %q = heddle.matmul %x, %w : tensor<?x8xf32, #n>, tensor<8x8xf32> -> tensor<?x8xf32, #n>
  // expected-error @+1 {{'heddle.attention' op with key_rows has no gradient}}
  %o, %lse = heddle.attention %q, %x, %x rows(%rows) queries(%s, %l) keys(%s, %l) {heads = 1 : i64, scale = 1.0 : f32, query_size = "length", key_size = "length"}
    : (tensor<?x8xf32, #n>, tensor<?x8xf32, #n>, tensor<?x8xf32, #n>, tensor<?x16xi32, #s>, tensor<?xi32, #s>, tensor<?xi32, #s>, tensor<?xi32, #s>, tensor<?xi32, #s>) -> (tensor<?x8xf32, #n>, tensor<?x1xf32, #n>)
  %sums = heddle.sum columns %o : tensor<?x8xf32, #n> -> tensor<?xf32, #n>
  %loss = heddle.sum rows %sums : tensor<?xf32, #n> -> tensor<1xf32>
  heddle.accumulate %loss
  return
}
