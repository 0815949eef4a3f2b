// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s

!tokens = tensor<?x8xf32, #heddle.dims<"source">>
!scores = tensor<?x2x16xf32, #heddle.dims<"source">>
!indices = tensor<?xi32, #heddle.dims<"source">>
!per_head = tensor<?x2xf32, #heddle.dims<"source">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>

// The imported form: the ops of the paper's section 3.2.1, one by one.
// CHECK-LABEL: func.func @unfused
func.func @unfused(%q: !tokens, %k: !tokens, %v: !tokens, %starts: !segments, %lengths: !segments, %sink: tensor<2xf32>) -> !tokens {
  // CHECK: %[[SCORES:.*]] = heddle.scores %{{.*}}, %{{.*}} queries(%[[STARTS:.*]], %[[LENGTHS:.*]]) keys(%[[STARTS]], %[[LENGTHS]]) {key_size = "source_length", query_size = "source_length"}
  // CHECK-SAME: -> tensor<?x2x16xf32, #heddle.dims<"source">>
  %s = heddle.scores %q, %k queries(%starts, %lengths) keys(%starts, %lengths)
    {query_size = "source_length", key_size = "source_length"} : (!tokens, !tokens, !segments, !segments, !segments, !segments) -> !scores
  // CHECK: %[[POSITION:.*]], %[[SEQUENCE:.*]] = heddle.locate rows(%[[STARTS]], %[[LENGTHS]]) {row_size = "source_length"} : tensor<?xi32, #heddle.dims<"sequences">> -> tensor<?xi32, #heddle.dims<"source">>
  %position, %sequence = heddle.locate rows(%starts, %lengths) {row_size = "source_length"} : !segments -> !indices
  // CHECK: %[[MASKED:.*]] = heddle.mask %[[SCORES]] at(%[[POSITION]], %[[SEQUENCE]]) keys(%[[LENGTHS]]) mask {
  // CHECK-NEXT: ^bb0(%[[QUERY:.*]]: i32, %[[KEY:.*]]: i32):
  // CHECK-NEXT: %[[COUNTS:.*]] = arith.cmpi sge, %[[QUERY]], %[[KEY]] : i32
  // CHECK-NEXT: heddle.yield %[[COUNTS]] : i1
  // CHECK-NEXT: } {value = 0xFF800000 : f32}
  %m = heddle.mask %s at(%position, %sequence) keys(%lengths) mask {
  ^bb0(%query: i32, %key: i32):
    %counts = arith.cmpi sge, %query, %key : i32
    heddle.yield %counts : i1
  } {value = 0xFF800000 : f32} : !scores, !indices, !segments
  // CHECK: heddle.mask %[[MASKED]] at(%[[POSITION]], %[[SEQUENCE]]) keys(%[[LENGTHS]]) {value = 0.000000e+00 : f32} : tensor<?x2x16xf32, #heddle.dims<"source">>, tensor<?xi32, #heddle.dims<"source">>, tensor<?xi32, #heddle.dims<"sequences">>
  %n = heddle.mask %m at(%position, %sequence) keys(%lengths) {value = 0.0 : f32} : !scores, !indices, !segments
  // CHECK: %[[WEIGHTS:.*]] = heddle.softmax %{{.*}} : tensor<?x2x16xf32, #heddle.dims<"source">>
  %p = heddle.softmax %n : !scores
  // CHECK: heddle.softmax %{{.*}} sink(%{{.*}} : tensor<2xf32>) : tensor<?x2x16xf32, #heddle.dims<"source">>
  %sunk = heddle.softmax %n sink(%sink : tensor<2xf32>) : !scores
  // CHECK: heddle.softmax_grad %[[WEIGHTS]], %[[SCORES]] : tensor<?x2x16xf32, #heddle.dims<"source">>
  %g = heddle.softmax_grad %p, %s : !scores
  // CHECK: heddle.context %[[WEIGHTS]], %{{.*}} queries(%[[STARTS]], %[[LENGTHS]]) keys(%[[STARTS]], %[[LENGTHS]]) {key_size = "source_length", query_size = "source_length"}
  %o = heddle.context %p, %v queries(%starts, %lengths) keys(%starts, %lengths)
    {query_size = "source_length", key_size = "source_length"} : (!scores, !tokens, !segments, !segments, !segments, !segments) -> !tokens
  // CHECK: heddle.transposed_context %[[WEIGHTS]], %{{.*}} queries(%[[STARTS]], %[[LENGTHS]]) keys(%[[STARTS]], %[[LENGTHS]])
  %t = heddle.transposed_context %p, %q queries(%starts, %lengths) keys(%starts, %lengths)
    {query_size = "source_length", key_size = "source_length"} : (!scores, !tokens, !segments, !segments, !segments, !segments) -> !tokens
  // CHECK: heddle.iota {dim = 1 : i64} : tensor<?x2x16xi32, #heddle.dims<"source">>
  // CHECK: heddle.iota {dim = 2 : i64} : tensor<?x2x16xi32, #heddle.dims<"source">>
  %head = heddle.iota {dim = 1 : i64} : tensor<?x2x16xi32, #heddle.dims<"source">>
  %key = heddle.iota {dim = 2 : i64} : tensor<?x2x16xi32, #heddle.dims<"source">>
  return %o : !tokens
}

// CHECK-LABEL: func.func @fused
func.func @fused(%q: !tokens, %k: !tokens, %v: !tokens, %starts: !segments, %lengths: !segments,
                 %seed: tensor<2xi32>, %step: tensor<1xi32>) {
  // CHECK: %[[O:.*]], %[[LSE:.*]] = heddle.attention %[[Q:.*]], %[[K:.*]], %[[V:.*]] queries(%[[S:.*]], %[[L:.*]]) keys(%[[S]], %[[L]]) {
  // CHECK-SAME: heads = 2 : i64
  %o, %lse = heddle.attention %q, %k, %v queries(%starts, %lengths) keys(%starts, %lengths)
    {heads = 2 : i64, scale = 0.5 : f32, query_size = "source_length", key_size = "source_length"}
    : (!tokens, !tokens, !tokens, !segments, !segments, !segments, !segments) -> (!tokens, !per_head)

  // CHECK: heddle.attention %[[Q]], %[[K]], %[[V]] queries(%[[S]], %[[L]]) keys(%[[S]], %[[L]]) dropout(%[[SEED:.*]], %[[STEP:.*]]) mask {
  // CHECK: heddle.yield %{{.*}} : i1
  // CHECK: } {dropout = 1.000000e-01 : f32, heads = 2 : i64
  // CHECK-SAME: stream = 7 : i32
  %p, %lse2 = heddle.attention %q, %k, %v queries(%starts, %lengths) keys(%starts, %lengths) dropout(%seed, %step) mask {
  ^bb0(%query: i32, %key: i32):
    %counts = arith.cmpi sge, %query, %key : i32
    heddle.yield %counts : i1
  } {heads = 2 : i64, scale = 0.5 : f32, dropout = 0.1 : f32, stream = 7 : i32, query_size = "source_length",
     key_size = "source_length"}
    : (!tokens, !tokens, !tokens, !segments, !segments, !segments, !segments, tensor<2xi32>, tensor<1xi32>)
    -> (!tokens, !per_head)

  // CHECK: %[[DELTA:.*]] = heddle.attention_delta %[[O]], %[[Q]] : tensor<?x8xf32, #heddle.dims<"source">> -> tensor<?x2xf32, #heddle.dims<"source">>
  %delta = heddle.attention_delta %o, %q : !tokens -> !per_head
  // CHECK: heddle.attention_grad_query %[[Q]], %[[K]], %[[V]] gradient %[[Q]], %[[LSE]], %[[DELTA]] queries(%[[S]], %[[L]]) keys(%[[S]], %[[L]]) {
  %dq = heddle.attention_grad_query %q, %k, %v gradient %q, %lse, %delta queries(%starts, %lengths) keys(%starts, %lengths)
    {heads = 2 : i64, scale = 0.5 : f32, query_size = "source_length", key_size = "source_length"}
    : (!tokens, !tokens, !tokens, !tokens, !per_head, !per_head, !segments, !segments, !segments, !segments) -> !tokens
  // CHECK: heddle.attention_grad_key_value %[[Q]], %[[K]], %[[V]] gradient %[[Q]], %[[LSE]], %[[DELTA]] queries(%[[S]], %[[L]]) keys(%[[S]], %[[L]]) {
  %dk, %dv = heddle.attention_grad_key_value %q, %k, %v gradient %q, %lse, %delta queries(%starts, %lengths) keys(%starts, %lengths)
    {heads = 2 : i64, scale = 0.5 : f32, query_size = "source_length", key_size = "source_length"}
    : (!tokens, !tokens, !tokens, !tokens, !per_head, !per_head, !segments, !segments, !segments, !segments) -> (!tokens, !tokens)
  return
}

// A sink: one more score of each head, whose value is zero.
// CHECK-LABEL: func.func @sink
func.func @sink(%q: !tokens, %sink: tensor<2xf32>, %starts: !segments, %lengths: !segments) {
  // CHECK: heddle.attention %{{.*}}, %{{.*}}, %{{.*}} sink(%{{.*}}) queries(%{{.*}}, %{{.*}}) keys(%{{.*}}, %{{.*}}) {
  // CHECK-SAME: (tensor<?x8xf32, #heddle.dims<"source">>, tensor<?x8xf32, #heddle.dims<"source">>, tensor<?x8xf32, #heddle.dims<"source">>, tensor<2xf32>,
  %o:2 = heddle.attention %q, %q, %q sink(%sink) queries(%starts, %lengths) keys(%starts, %lengths)
    {heads = 2 : i64, scale = 0.5 : f32, query_size = "source_length", key_size = "source_length"}
    : (!tokens, !tokens, !tokens, tensor<2xf32>, !segments, !segments, !segments, !segments) -> (!tokens, !per_head)
  return
}

!cache = tensor<64x8xf32>
!rows = tensor<?x16xi32, #heddle.dims<"sequences">>

// Keys that are not contiguous: each sequence has a list of their rows.
// CHECK-LABEL: func.func @rows
func.func @rows(%q: !tokens, %cache: !cache, %rows: !rows, %starts: !segments, %lengths: !segments) {
  // CHECK: %[[SCORES:.*]] = heddle.scores %{{.*}}, %[[CACHE:.*]] rows(%[[ROWS:.*]]) queries(%[[STARTS:.*]], %[[LENGTHS:.*]]) keys(%[[STARTS]], %[[LENGTHS]]) {
  %s = heddle.scores %q, %cache rows(%rows) queries(%starts, %lengths) keys(%starts, %lengths)
    {query_size = "", key_size = "source_length"} : (!tokens, !cache, !rows, !segments, !segments, !segments, !segments) -> !scores
  // CHECK: heddle.context %[[SCORES]], %[[CACHE]] rows(%[[ROWS]]) queries(%[[STARTS]], %[[LENGTHS]]) keys(%[[STARTS]], %[[LENGTHS]]) {
  %c = heddle.context %s, %cache rows(%rows) queries(%starts, %lengths) keys(%starts, %lengths)
    {query_size = "", key_size = "source_length"} : (!scores, !cache, !rows, !segments, !segments, !segments, !segments) -> !tokens
  // CHECK: heddle.attention %{{.*}}, %[[CACHE]], %[[CACHE]] rows(%[[ROWS]]) queries(%[[STARTS]], %[[LENGTHS]]) keys(%[[STARTS]], %[[LENGTHS]]) {
  %o, %lse = heddle.attention %q, %cache, %cache rows(%rows) queries(%starts, %lengths) keys(%starts, %lengths)
    {heads = 2 : i64, scale = 0.5 : f32, query_size = "", key_size = "source_length"}
    : (!tokens, !cache, !cache, !rows, !segments, !segments, !segments, !segments) -> (!tokens, !per_head)
  return
}

// Parts of the keys: two results side by side, which become one.
// CHECK-LABEL: func.func @parts
func.func @parts(%q: !tokens, %cache: !cache, %sink: tensor<2xf32>, %starts: !segments, %lengths: !segments) {
  // CHECK: %[[PARTS:.*]], %[[LSE:.*]] = heddle.attention %{{.*}} queries(%[[STARTS:.*]], %[[LENGTHS:.*]]) keys(%[[STARTS]], %[[LENGTHS]]) {
  // CHECK-SAME: part_keys = 32 : i64
  %parts, %lse = heddle.attention %q, %cache, %cache queries(%starts, %lengths) keys(%starts, %lengths)
    {heads = 2 : i64, part_keys = 32 : i64, scale = 0.5 : f32, query_size = "", key_size = "source_length"}
    : (!tokens, !cache, !cache, !segments, !segments, !segments, !segments)
    -> (tensor<?x16xf32, #heddle.dims<"source">>, tensor<?x4xf32, #heddle.dims<"source">>)
  // CHECK: heddle.merge_parts %[[PARTS]], %[[LSE]] queries(%[[STARTS]], %[[LENGTHS]]) keys(%[[LENGTHS]]) {heads = 2 : i64, part_keys = 32 : i64}
  // CHECK-SAME: -> tensor<?x8xf32, #heddle.dims<"source">>
  %o = heddle.merge_parts %parts, %lse queries(%starts, %lengths) keys(%lengths) {heads = 2 : i64, part_keys = 32 : i64}
    : (tensor<?x16xf32, #heddle.dims<"source">>, tensor<?x4xf32, #heddle.dims<"source">>, !segments, !segments, !segments) -> !tokens
  // CHECK: heddle.merge_parts %[[PARTS]], %[[LSE]] queries(%[[STARTS]], %[[LENGTHS]]) keys(%[[LENGTHS]]) sink(%{{.*}}) {
  %p = heddle.merge_parts %parts, %lse queries(%starts, %lengths) keys(%lengths) sink(%sink) {heads = 2 : i64, part_keys = 32 : i64}
    : (tensor<?x16xf32, #heddle.dims<"source">>, tensor<?x4xf32, #heddle.dims<"source">>, !segments, !segments, !segments, tensor<2xf32>) -> !tokens
  return
}

// CHECK-LABEL: func.func @score
func.func @score(%q: !tokens, %k: !tokens, %lse: !per_head, %starts: !segments, %lengths: !segments) {
  // CHECK: heddle.attention %{{.*}} keys(%{{.*}}) score {
  // CHECK-NEXT: ^bb0(%[[SCORE:.*]]: f32, %[[QUERY:.*]]: i32, %[[KEY:.*]]: i32, %[[HEAD:.*]]: i32):
  // CHECK-NEXT: %[[SOFT:.*]] = math.tanh %[[SCORE]] : f32
  // CHECK-NEXT: heddle.yield %[[SOFT]] : f32
  // CHECK-NEXT: } mask {
  // CHECK-NEXT: ^bb0(%{{.*}}: i32, %{{.*}}: i32):
  // CHECK: } {heads = 2 : i64
  %o:2 = heddle.attention %q, %k, %k queries(%starts, %lengths) keys(%starts, %lengths) score {
  ^bb0(%score: f32, %query: i32, %key: i32, %head: i32):
    %soft = math.tanh %score : f32
    heddle.yield %soft : f32
  } mask {
  ^bb0(%query: i32, %key: i32):
    %counts = arith.cmpi sge, %query, %key : i32
    heddle.yield %counts : i1
  } {heads = 2 : i64, scale = 0.5 : f32, query_size = "source_length", key_size = "source_length"}
    : (!tokens, !tokens, !tokens, !segments, !segments, !segments, !segments) -> (!tokens, !per_head)
  // CHECK: heddle.attention_grad_query %{{.*}} keys(%{{.*}}) score {
  // CHECK: math.tanh
  // CHECK: } score_gradient {
  // CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: i32, %{{.*}}: i32, %{{.*}}: i32, %[[GRADIENT:.*]]: f32):
  // CHECK-NEXT: heddle.yield %[[GRADIENT]] : f32
  // CHECK-NEXT: } {heads = 2 : i64
  %dq = heddle.attention_grad_query %q, %k, %k gradient %q, %lse, %lse queries(%starts, %lengths) keys(%starts, %lengths) score {
  ^bb0(%score: f32, %query: i32, %key: i32, %head: i32):
    %soft = math.tanh %score : f32
    heddle.yield %soft : f32
  } score_gradient {
  ^bb0(%score: f32, %query: i32, %key: i32, %head: i32, %gradient: f32):
    heddle.yield %gradient : f32
  } {heads = 2 : i64, scale = 0.5 : f32, query_size = "source_length", key_size = "source_length"}
    : (!tokens, !tokens, !tokens, !tokens, !per_head, !per_head, !segments, !segments, !segments, !segments) -> !tokens
  return
}
