// What looks like attention and is none, or may not be fused. Every function must come out as it went in.
// RUN: heddle-opt %s --heddle-fuse-attention | FileCheck %s --implicit-check-not=heddle.attention

!tokens = tensor<?x8xf32, #heddle.dims<"tokens">>
!heads = tensor<2x?x4xf32, #heddle.dims<"tokens">>
!scores = tensor<2x?x?xf32, #heddle.dims<"tokens", "tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>

// Without a mask queries would see the keys of other sequences; `heddle.attention` cannot say that.
// CHECK-LABEL: func.func @no_mask
// CHECK: heddle.softmax
func.func @no_mask(%x: !tokens) -> !tokens {
  %h = heddle.split_heads %x : !tokens -> !heads
  %product = heddle.batch_matmul %h, %h {transpose_rhs} : !heads, !heads -> !scores
  %weights = heddle.softmax %product : !scores
  %context = heddle.batch_matmul %weights, %h : !scores, !heads -> !heads
  %result = heddle.merge_heads %context : !heads -> !tokens
  return %result : !tokens
}

// CHECK-LABEL: func.func @scores_used_twice
// CHECK: heddle.mask
func.func @scores_used_twice(%x: !tokens, %s: !segments, %l: !segments) -> (!tokens, !scores) {
  %h = heddle.split_heads %x : !tokens -> !heads
  %product = heddle.batch_matmul %h, %h {transpose_rhs} : !heads, !heads -> !scores
  %masked = heddle.mask %product queries(%s, %l) keys(%s, %l) {query_size = "length", key_size = "length"}
    : (!scores, !segments, !segments, !segments, !segments) -> !scores
  %weights = heddle.softmax %masked : !scores
  %context = heddle.batch_matmul %weights, %h : !scores, !heads -> !heads
  %result = heddle.merge_heads %context : !heads -> !tokens
  return %result, %product : !tokens, !scores
}

// CHECK-LABEL: func.func @scaled_scores_used_twice
// CHECK: heddle.mask
func.func @scaled_scores_used_twice(%x: !tokens, %s: !segments, %l: !segments) -> (!tokens, !scores) {
  %h = heddle.split_heads %x : !tokens -> !heads
  %product = heddle.batch_matmul %h, %h {transpose_rhs} : !heads, !heads -> !scores
  %half = heddle.fill 0.5 : f32 : !scores
  %scaled = arith.mulf %product, %half : !scores
  %masked = heddle.mask %scaled queries(%s, %l) keys(%s, %l) {query_size = "length", key_size = "length"}
    : (!scores, !segments, !segments, !segments, !segments) -> !scores
  %weights = heddle.softmax %masked : !scores
  %context = heddle.batch_matmul %weights, %h : !scores, !heads -> !heads
  %result = heddle.merge_heads %context : !heads -> !tokens
  return %result, %scaled : !tokens, !scores
}

// The weights are an output, as for a picture of what attends to what.
// CHECK-LABEL: func.func @weights_used_twice
// CHECK: heddle.mask
func.func @weights_used_twice(%x: !tokens, %s: !segments, %l: !segments) -> (!tokens, !scores) {
  %h = heddle.split_heads %x : !tokens -> !heads
  %product = heddle.batch_matmul %h, %h {transpose_rhs} : !heads, !heads -> !scores
  %masked = heddle.mask %product queries(%s, %l) keys(%s, %l) {query_size = "length", key_size = "length"}
    : (!scores, !segments, !segments, !segments, !segments) -> !scores
  %weights = heddle.softmax %masked : !scores
  %context = heddle.batch_matmul %weights, %h : !scores, !heads -> !heads
  %result = heddle.merge_heads %context : !heads -> !tokens
  return %result, %weights : !tokens, !scores
}

// A negative factor behind the mask turns its minus infinities around.
// CHECK-LABEL: func.func @negative_scale_behind_mask
// CHECK: heddle.mask
func.func @negative_scale_behind_mask(%x: !tokens, %s: !segments, %l: !segments) -> !tokens {
  %h = heddle.split_heads %x : !tokens -> !heads
  %product = heddle.batch_matmul %h, %h {transpose_rhs} : !heads, !heads -> !scores
  %masked = heddle.mask %product queries(%s, %l) keys(%s, %l) {query_size = "length", key_size = "length"}
    : (!scores, !segments, !segments, !segments, !segments) -> !scores
  %minus = heddle.fill -1.0 : f32 : !scores
  %scaled = arith.mulf %masked, %minus : !scores
  %weights = heddle.softmax %scaled : !scores
  %context = heddle.batch_matmul %weights, %h : !scores, !heads -> !heads
  %result = heddle.merge_heads %context : !heads -> !tokens
  return %result : !tokens
}

// A bias on the scores: the op has no place for it yet.
// CHECK-LABEL: func.func @scores_are_no_product
// CHECK: heddle.mask
func.func @scores_are_no_product(%x: !tokens, %bias: !scores, %s: !segments, %l: !segments) -> !tokens {
  %h = heddle.split_heads %x : !tokens -> !heads
  %product = heddle.batch_matmul %h, %h {transpose_rhs} : !heads, !heads -> !scores
  %biased = arith.addf %product, %bias : !scores
  %masked = heddle.mask %biased queries(%s, %l) keys(%s, %l) {query_size = "length", key_size = "length"}
    : (!scores, !segments, !segments, !segments, !segments) -> !scores
  %weights = heddle.softmax %masked : !scores
  %context = heddle.batch_matmul %weights, %h : !scores, !heads -> !heads
  %result = heddle.merge_heads %context : !heads -> !tokens
  return %result : !tokens
}

// Q K where Q K^T is needed: only possible when a sequence has as many tokens as a head is wide, and still not attention.
// CHECK-LABEL: func.func @untransposed
// CHECK: heddle.mask
func.func @untransposed(%x: tensor<4x8xf32>, %s: tensor<1xi32>) -> tensor<4x8xf32> {
  %h = heddle.split_heads %x : tensor<4x8xf32> -> tensor<2x4x4xf32>
  %product = heddle.batch_matmul %h, %h : tensor<2x4x4xf32>, tensor<2x4x4xf32> -> tensor<2x4x4xf32>
  %masked = heddle.mask %product queries(%s, %s) keys(%s, %s) {query_size = "", key_size = ""}
    : (tensor<2x4x4xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<2x4x4xf32>
  %weights = heddle.softmax %masked : tensor<2x4x4xf32>
  %context = heddle.batch_matmul %weights, %h : tensor<2x4x4xf32>, tensor<2x4x4xf32> -> tensor<2x4x4xf32>
  %result = heddle.merge_heads %context : tensor<2x4x4xf32> -> tensor<4x8xf32>
  return %result : tensor<4x8xf32>
}
