// RUN: heddle-opt %s --heddle-fuse-attention | FileCheck %s

!tokens = tensor<?x8xf32, #heddle.dims<"target_tokens">>
!heads = tensor<2x?x4xf32, #heddle.dims<"target_tokens">>
!scores = tensor<2x?x?xf32, #heddle.dims<"target_tokens", "target_tokens">>
!sources = tensor<?x8xf32, #heddle.dims<"source_tokens">>
!sourceHeads = tensor<2x?x4xf32, #heddle.dims<"source_tokens">>
!crossScores = tensor<2x?x?xf32, #heddle.dims<"target_tokens", "source_tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>

// The decoder's self-attention: causal, with dropout of the weights.
// CHECK-LABEL: func.func @self
// CHECK-SAME: %[[Q:.*]]: tensor<?x8xf32, {{.*}}>, %[[K:.*]]: tensor<?x8xf32, {{.*}}>, %[[V:.*]]: tensor<?x8xf32, {{.*}}>, %[[S:.*]]: tensor<?xi32, {{.*}}>, %[[L:.*]]: tensor<?xi32, {{.*}}>, %[[SEED:.*]]: tensor<2xi32>, %[[STEP:.*]]: tensor<1xi32>
func.func @self(%query: !tokens, %key: !tokens, %value: !tokens, %s: !segments, %l: !segments, %seed: tensor<2xi32>,
                %step: tensor<1xi32>) -> !tokens {
  // CHECK-NEXT: %[[R:.*]], %{{.*}} = heddle.attention %[[Q]], %[[K]], %[[V]] queries(%[[S]], %[[L]]) keys(%[[S]], %[[L]]) dropout(%[[SEED]], %[[STEP]]) mask {
  // CHECK-NEXT: ^bb0(%[[I:.*]]: i32, %[[J:.*]]: i32):
  // CHECK-NEXT:   %[[C:.*]] = arith.cmpi sle, %[[J]], %[[I]] : i32
  // CHECK-NEXT:   heddle.yield %[[C]] : i1
  // CHECK-NEXT: } {dropout = 1.000000e-01 : f32, heads = 2 : i64, key_size = "target_length", query_size = "target_length", scale = 5.000000e-01 : f32, stream = 7 : i32}
  // CHECK-SAME: -> (tensor<?x8xf32, #heddle.dims<"target_tokens">>, tensor<?x2xf32, #heddle.dims<"target_tokens">>)
  // CHECK-NEXT: return %[[R]]
  %q = heddle.split_heads %query : !tokens -> !heads
  %k = heddle.split_heads %key : !tokens -> !heads
  %v = heddle.split_heads %value : !tokens -> !heads
  %product = heddle.batch_matmul %q, %k {transpose_rhs} : !heads, !heads -> !scores
  %half = heddle.fill 0.5 : f32 : !scores
  %scaled = arith.mulf %product, %half : !scores
  %masked = heddle.mask %scaled queries(%s, %l) keys(%s, %l) mask {
  ^bb0(%i: i32, %j: i32):
    %counts = arith.cmpi sle, %j, %i : i32
    heddle.yield %counts : i1
  } {query_size = "target_length", key_size = "target_length"} : (!scores, !segments, !segments, !segments, !segments) -> !scores
  %weights = heddle.softmax %masked : !scores
  %dropped = heddle.dropout %weights seed %seed step %step {rate = 0.1 : f32, stream = 7 : i32} : !scores
  %context = heddle.batch_matmul %dropped, %v : !scores, !heads -> !heads
  %result = heddle.merge_heads %context : !heads -> !tokens
  return %result : !tokens
}

// Cross-attention without a scale, its keys used elsewhere as well.
// CHECK-LABEL: func.func @cross
// CHECK-SAME: %[[Q:.*]]: tensor<?x8xf32, #heddle.dims<"target_tokens">>, %[[M:.*]]: tensor<?x8xf32, #heddle.dims<"source_tokens">>
func.func @cross(%query: !tokens, %memory: !sources, %s: !segments, %l: !segments, %ks: !segments, %kl: !segments)
    -> (!tokens, !sourceHeads) {
  // CHECK-NEXT: %[[H:.*]] = heddle.split_heads %[[M]]
  // CHECK-NEXT: %[[R:.*]], %{{.*}} = heddle.attention %[[Q]], %[[M]], %[[M]] queries(%{{.*}}, %{{.*}}) keys(%{{.*}}, %{{.*}}) {heads = 2 : i64, key_size = "source_length", query_size = "target_length", scale = 1.000000e+00 : f32}
  // CHECK-NEXT: return %[[R]], %[[H]]
  %q = heddle.split_heads %query : !tokens -> !heads
  %k = heddle.split_heads %memory : !sources -> !sourceHeads
  %product = heddle.batch_matmul %q, %k {transpose_rhs} : !heads, !sourceHeads -> !crossScores
  %masked = heddle.mask %product queries(%s, %l) keys(%ks, %kl) {query_size = "target_length", key_size = "source_length"}
    : (!crossScores, !segments, !segments, !segments, !segments) -> !crossScores
  %weights = heddle.softmax %masked : !crossScores
  %context = heddle.batch_matmul %weights, %k : !crossScores, !sourceHeads -> !heads
  %result = heddle.merge_heads %context : !heads -> !tokens
  return %result, %k : !tokens, !sourceHeads
}

// The scale wherever an importer may put it: 2 at the queries, 3 at the split keys, 5 before the mask (its constant on
// the left), 7 behind it.
// CHECK-LABEL: func.func @scales
func.func @scales(%x: !tokens, %s: !segments, %l: !segments) -> !tokens {
  // CHECK-NEXT: heddle.attention %arg0, %arg0, %arg0 {{.*}} scale = 2.100000e+02 : f32}
  // CHECK-NEXT: return
  %two = heddle.fill 2.0 : f32 : !tokens
  %scaledQuery = arith.mulf %x, %two : !tokens
  %q = heddle.split_heads %scaledQuery : !tokens -> !heads
  %h = heddle.split_heads %x : !tokens -> !heads
  %three = heddle.fill 3.0 : f32 : !heads
  %k = arith.mulf %h, %three : !heads
  %product = heddle.batch_matmul %q, %k {transpose_rhs} : !heads, !heads -> !scores
  %five = heddle.fill 5.0 : f32 : !scores
  %before = arith.mulf %five, %product : !scores
  %masked = heddle.mask %before queries(%s, %l) keys(%s, %l) {query_size = "target_length", key_size = "target_length"}
    : (!scores, !segments, !segments, !segments, !segments) -> !scores
  %seven = heddle.fill 7.0 : f32 : !scores
  %after = arith.mulf %masked, %seven : !scores
  %weights = heddle.softmax %after : !scores
  %context = heddle.batch_matmul %weights, %h : !scores, !heads -> !heads
  %result = heddle.merge_heads %context : !heads -> !tokens
  return %result : !tokens
}

// One query a sequence over a cache of fixed extent.
// CHECK-LABEL: func.func @cache
func.func @cache(%query: tensor<?x8xf32, #heddle.dims<"sequences">>, %cache: tensor<64x8xf32>, %s: !segments) -> tensor<?x8xf32, #heddle.dims<"sequences">> {
  // CHECK-NEXT: heddle.attention %arg0, %arg1, %arg1 {{.*}} key_size = "cache_length", query_size = "",
  // CHECK-NEXT: return
  %q = heddle.split_heads %query : tensor<?x8xf32, #heddle.dims<"sequences">> -> tensor<2x?x4xf32, #heddle.dims<"sequences">>
  %k = heddle.split_heads %cache : tensor<64x8xf32> -> tensor<2x64x4xf32>
  %product = heddle.batch_matmul %q, %k {transpose_rhs} : tensor<2x?x4xf32, #heddle.dims<"sequences">>, tensor<2x64x4xf32> -> tensor<2x?x64xf32, #heddle.dims<"sequences">>
  %masked = heddle.mask %product queries(%s, %s) keys(%s, %s) {query_size = "", key_size = "cache_length"}
    : (tensor<2x?x64xf32, #heddle.dims<"sequences">>, !segments, !segments, !segments, !segments) -> tensor<2x?x64xf32, #heddle.dims<"sequences">>
  %weights = heddle.softmax %masked : tensor<2x?x64xf32, #heddle.dims<"sequences">>
  %context = heddle.batch_matmul %weights, %k : tensor<2x?x64xf32, #heddle.dims<"sequences">>, tensor<2x64x4xf32> -> tensor<2x?x4xf32, #heddle.dims<"sequences">>
  %result = heddle.merge_heads %context : tensor<2x?x4xf32, #heddle.dims<"sequences">> -> tensor<?x8xf32, #heddle.dims<"sequences">>
  return %result : tensor<?x8xf32, #heddle.dims<"sequences">>
}
