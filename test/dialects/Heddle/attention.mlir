// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s

!tokens = tensor<?x8xf32, #heddle.dims<"source">>
!heads = tensor<2x?x4xf32, #heddle.dims<"source">>
!scores = tensor<2x?x?xf32, #heddle.dims<"source", "source">>
!per_head = tensor<?x2xf32, #heddle.dims<"source">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>

// As imported: the ops of the paper's 3.2.1 one by one.
// CHECK-LABEL: func.func @unfused
func.func @unfused(%q: !tokens, %k: !tokens, %v: !tokens, %starts: !segments, %lengths: !segments) -> !tokens {
  // CHECK: heddle.split_heads %{{.*}} : tensor<?x8xf32, #heddle.dims<"source">> -> tensor<2x?x4xf32, #heddle.dims<"source">>
  %qs = heddle.split_heads %q : !tokens -> !heads
  %ks = heddle.split_heads %k : !tokens -> !heads
  %vs = heddle.split_heads %v : !tokens -> !heads
  // CHECK: heddle.batch_matmul %{{.*}}, %{{.*}} {transpose_rhs} : {{.*}} -> tensor<2x?x?xf32, #heddle.dims<"source", "source">>
  %s = heddle.batch_matmul %qs, %ks {transpose_rhs} : !heads, !heads -> !scores
  // CHECK: heddle.mask %{{.*}} queries(%[[STARTS:.*]], %[[LENGTHS:.*]]) keys(%[[STARTS]], %[[LENGTHS]]) mask {
  // CHECK-NEXT: ^bb0(%[[QUERY:.*]]: i32, %[[KEY:.*]]: i32):
  // CHECK-NEXT: %[[COUNTS:.*]] = arith.cmpi sge, %[[QUERY]], %[[KEY]] : i32
  // CHECK-NEXT: heddle.yield %[[COUNTS]] : i1
  %m = heddle.mask %s queries(%starts, %lengths) keys(%starts, %lengths) mask {
  ^bb0(%query: i32, %key: i32):
    %counts = arith.cmpi sge, %query, %key : i32
    heddle.yield %counts : i1
  } {query_size = "source_length", key_size = "source_length"} : (!scores, !segments, !segments, !segments, !segments) -> !scores
  // CHECK: heddle.mask %{{.*}} queries(%[[STARTS]], %[[LENGTHS]]) keys(%[[STARTS]], %[[LENGTHS]]) {
  // CHECK-SAME: key_size = "source_length", query_size = "source_length"
  %n = heddle.mask %m queries(%starts, %lengths) keys(%starts, %lengths)
    {query_size = "source_length", key_size = "source_length"}
    : (!scores, !segments, !segments, !segments, !segments) -> !scores
  // CHECK: heddle.softmax %{{.*}} : tensor<2x?x?xf32, #heddle.dims<"source", "source">>
  %p = heddle.softmax %n : !scores
  %o = heddle.batch_matmul %p, %vs : !scores, !heads -> !heads
  // CHECK: heddle.merge_heads %{{.*}} : tensor<2x?x4xf32, #heddle.dims<"source">> -> tensor<?x8xf32, #heddle.dims<"source">>
  %r = heddle.merge_heads %o : !heads -> !tokens
  return %r : !tokens
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

!cache = tensor<64x8xf32>
!rows = tensor<?x16xi32, #heddle.dims<"sequences">>

// Keys that are no neighbours: each sequence has a list of their rows.
// CHECK-LABEL: func.func @rows
func.func @rows(%q: !tokens, %cache: !cache, %s: tensor<2x?x64xf32, #heddle.dims<"source">>, %rows: !rows,
                %starts: !segments, %lengths: !segments) {
  // CHECK: heddle.mask %{{.*}} queries(%[[STARTS:.*]], %[[LENGTHS:.*]]) keys(%[[STARTS]], %[[LENGTHS]]) rows(%[[ROWS:.*]]) {
  %m = heddle.mask %s queries(%starts, %lengths) keys(%starts, %lengths) rows(%rows)
    {query_size = "", key_size = "source_length"}
    : (tensor<2x?x64xf32, #heddle.dims<"source">>, !segments, !segments, !segments, !segments, !rows) -> tensor<2x?x64xf32, #heddle.dims<"source">>
  // CHECK: heddle.attention %{{.*}}, %[[CACHE:.*]], %[[CACHE]] rows(%[[ROWS]]) queries(%[[STARTS]], %[[LENGTHS]]) keys(%[[STARTS]], %[[LENGTHS]]) {
  %o, %lse = heddle.attention %q, %cache, %cache rows(%rows) queries(%starts, %lengths) keys(%starts, %lengths)
    {heads = 2 : i64, scale = 0.5 : f32, query_size = "", key_size = "source_length"}
    : (!tokens, !cache, !cache, !rows, !segments, !segments, !segments, !segments) -> (!tokens, !per_head)
  return
}
