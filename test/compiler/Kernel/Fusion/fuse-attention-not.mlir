// Ops that look like attention and must not be fused. Every function is unchanged.
// RUN: heddle-opt %s --heddle-fuse-attention | FileCheck %s --implicit-check-not=heddle.attention
// RUN: heddle-opt %s --heddle-fuse-attention --remarks-filter=fuse-attention -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK-NOT: Passed
// REMARK: [Missed] not fused | Category:fuse-attention | Function=no_mask | Reason="the softmax is of no masked scores that it alone uses", What=context
// REMARK: Function=masked_with_zero | Reason="the mask is not of the sequences of the scores, or its value is not minus infinity"
// REMARK: Function=scores_used_twice | Reason="what is masked is no elementwise arithmetic on one op's scores that the mask alone uses"
// REMARK: Function=weights_used_twice | Reason="its weights are no softmax, dropped out or not, that it alone uses"
// REMARK: Function=negative_scale_behind_mask | Reason="masked scores are multiplied by a factor that is not positive"
// REMARK: Function=other_sequences | Reason="scores and context are of different sequences"
// REMARK: Function=combined | Reason="its scores are no dot products"
// REMARK: Function=wide_heads | Reason="its heads are wider than 256 columns, more than registers hold"

!tokens = tensor<?x8xf32, #heddle.dims<"target_tokens">>
!scores = tensor<?x2x16xf32, #heddle.dims<"target_tokens">>
!indices = tensor<?xi32, #heddle.dims<"target_tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>

// Without a mask, elements that belong to no pair would count.
// CHECK-LABEL: func.func @no_mask
// CHECK: heddle.context
func.func @no_mask(%x: !tokens, %s: !segments, %l: !segments) -> !tokens {
  %product = heddle.scores %x, %x queries(%s, %l) keys(%s, %l)
    {query_size = "target_length", key_size = "target_length"} : (!tokens, !tokens, !segments, !segments, !segments, !segments) -> !scores
  %weights = heddle.softmax %product : !scores
  %result = heddle.context %weights, %x queries(%s, %l) keys(%s, %l)
    {query_size = "target_length", key_size = "target_length"} : (!scores, !tokens, !segments, !segments, !segments, !segments) -> !tokens
  return %result : !tokens
}

// Masked scores must have weight zero.
// CHECK-LABEL: func.func @masked_with_zero
// CHECK: heddle.context
func.func @masked_with_zero(%x: !tokens, %s: !segments, %l: !segments) -> !tokens {
  %product = heddle.scores %x, %x queries(%s, %l) keys(%s, %l)
    {query_size = "target_length", key_size = "target_length"} : (!tokens, !tokens, !segments, !segments, !segments, !segments) -> !scores
  %position, %sequence = heddle.locate rows(%s, %l) {row_size = "target_length"} : !segments -> !indices
  %masked = heddle.mask %product at(%position, %sequence) keys(%l) {value = 0.0 : f32} : !scores, !indices, !segments
  %weights = heddle.softmax %masked : !scores
  %result = heddle.context %weights, %x queries(%s, %l) keys(%s, %l)
    {query_size = "target_length", key_size = "target_length"} : (!scores, !tokens, !segments, !segments, !segments, !segments) -> !tokens
  return %result : !tokens
}

// The scores are an output.
// CHECK-LABEL: func.func @scores_used_twice
// CHECK: heddle.context
func.func @scores_used_twice(%x: !tokens, %s: !segments, %l: !segments) -> (!tokens, !scores) {
  %product = heddle.scores %x, %x queries(%s, %l) keys(%s, %l)
    {query_size = "target_length", key_size = "target_length"} : (!tokens, !tokens, !segments, !segments, !segments, !segments) -> !scores
  %position, %sequence = heddle.locate rows(%s, %l) {row_size = "target_length"} : !segments -> !indices
  %masked = heddle.mask %product at(%position, %sequence) keys(%l) {value = 0xFF800000 : f32} : !scores, !indices, !segments
  %weights = heddle.softmax %masked : !scores
  %result = heddle.context %weights, %x queries(%s, %l) keys(%s, %l)
    {query_size = "target_length", key_size = "target_length"} : (!scores, !tokens, !segments, !segments, !segments, !segments) -> !tokens
  return %result, %product : !tokens, !scores
}

// The scaled scores are an output.
// CHECK-LABEL: func.func @scaled_scores_used_twice
// CHECK: heddle.context
func.func @scaled_scores_used_twice(%x: !tokens, %s: !segments, %l: !segments) -> (!tokens, !scores) {
  %product = heddle.scores %x, %x queries(%s, %l) keys(%s, %l)
    {query_size = "target_length", key_size = "target_length"} : (!tokens, !tokens, !segments, !segments, !segments, !segments) -> !scores
  %cscaled = heddle.fill 0.5 : f32 : !scores
  %scaled = arith.mulf %product, %cscaled : !scores
  %position, %sequence = heddle.locate rows(%s, %l) {row_size = "target_length"} : !segments -> !indices
  %masked = heddle.mask %scaled at(%position, %sequence) keys(%l) {value = 0xFF800000 : f32} : !scores, !indices, !segments
  %weights = heddle.softmax %masked : !scores
  %result = heddle.context %weights, %x queries(%s, %l) keys(%s, %l)
    {query_size = "target_length", key_size = "target_length"} : (!scores, !tokens, !segments, !segments, !segments, !segments) -> !tokens
  return %result, %scaled : !tokens, !scores
}

// The weights are an output, for example to draw them.
// CHECK-LABEL: func.func @weights_used_twice
// CHECK: heddle.context
func.func @weights_used_twice(%x: !tokens, %s: !segments, %l: !segments) -> (!tokens, !scores) {
  %product = heddle.scores %x, %x queries(%s, %l) keys(%s, %l)
    {query_size = "target_length", key_size = "target_length"} : (!tokens, !tokens, !segments, !segments, !segments, !segments) -> !scores
  %position, %sequence = heddle.locate rows(%s, %l) {row_size = "target_length"} : !segments -> !indices
  %masked = heddle.mask %product at(%position, %sequence) keys(%l) {value = 0xFF800000 : f32} : !scores, !indices, !segments
  %weights = heddle.softmax %masked : !scores
  %result = heddle.context %weights, %x queries(%s, %l) keys(%s, %l)
    {query_size = "target_length", key_size = "target_length"} : (!scores, !tokens, !segments, !segments, !segments, !segments) -> !tokens
  return %result, %weights : !tokens, !scores
}

// A negative factor after the mask turns minus infinity into infinity.
// CHECK-LABEL: func.func @negative_scale_behind_mask
// CHECK: heddle.context
func.func @negative_scale_behind_mask(%x: !tokens, %s: !segments, %l: !segments) -> !tokens {
  %product = heddle.scores %x, %x queries(%s, %l) keys(%s, %l)
    {query_size = "target_length", key_size = "target_length"} : (!tokens, !tokens, !segments, !segments, !segments, !segments) -> !scores
  %position, %sequence = heddle.locate rows(%s, %l) {row_size = "target_length"} : !segments -> !indices
  %masked = heddle.mask %product at(%position, %sequence) keys(%l) {value = 0xFF800000 : f32} : !scores, !indices, !segments
  %cscaled = heddle.fill -1.0 : f32 : !scores
  %scaled = arith.mulf %masked, %cscaled : !scores
  %weights = heddle.softmax %scaled : !scores
  %result = heddle.context %weights, %x queries(%s, %l) keys(%s, %l)
    {query_size = "target_length", key_size = "target_length"} : (!scores, !tokens, !segments, !segments, !segments, !segments) -> !tokens
  return %result : !tokens
}

// The bias comes from memory, so it is not computed from a score and its indices.
// CHECK-LABEL: func.func @bias_from_memory
// CHECK: heddle.context
func.func @bias_from_memory(%x: !tokens, %bias: !scores, %s: !segments, %l: !segments) -> !tokens {
  %product = heddle.scores %x, %x queries(%s, %l) keys(%s, %l)
    {query_size = "target_length", key_size = "target_length"} : (!tokens, !tokens, !segments, !segments, !segments, !segments) -> !scores
  %biased = arith.addf %product, %bias : !scores
  %position, %sequence = heddle.locate rows(%s, %l) {row_size = "target_length"} : !segments -> !indices
  %masked = heddle.mask %biased at(%position, %sequence) keys(%l) {value = 0xFF800000 : f32} : !scores, !indices, !segments
  %weights = heddle.softmax %masked : !scores
  %result = heddle.context %weights, %x queries(%s, %l) keys(%s, %l)
    {query_size = "target_length", key_size = "target_length"} : (!scores, !tokens, !segments, !segments, !segments, !segments) -> !tokens
  return %result : !tokens
}

// The values belong to other sequences than the scores.
// CHECK-LABEL: func.func @other_sequences
// CHECK: heddle.context
func.func @other_sequences(%x: !tokens, %s: !segments, %l: !segments, %m: !segments) -> !tokens {
  %product = heddle.scores %x, %x queries(%s, %l) keys(%s, %l)
    {query_size = "target_length", key_size = "target_length"} : (!tokens, !tokens, !segments, !segments, !segments, !segments) -> !scores
  %position, %sequence = heddle.locate rows(%s, %l) {row_size = "target_length"} : !segments -> !indices
  %masked = heddle.mask %product at(%position, %sequence) keys(%l) {value = 0xFF800000 : f32} : !scores, !indices, !segments
  %weights = heddle.softmax %masked : !scores
  %result = heddle.context %weights, %x queries(%s, %l) keys(%s, %m)
    {query_size = "target_length", key_size = "target_length"} : (!scores, !tokens, !segments, !segments, !segments, !segments) -> !tokens
  return %result : !tokens
}

// The mask belongs to other sequences.
// CHECK-LABEL: func.func @other_mask
// CHECK: heddle.context
func.func @other_mask(%x: !tokens, %s: !segments, %l: !segments, %m: !segments) -> !tokens {
  %product = heddle.scores %x, %x queries(%s, %l) keys(%s, %l)
    {query_size = "target_length", key_size = "target_length"} : (!tokens, !tokens, !segments, !segments, !segments, !segments) -> !scores
  %position, %sequence = heddle.locate rows(%s, %m) {row_size = "target_length"} : !segments -> !indices
  %masked = heddle.mask %product at(%position, %sequence) keys(%l) {value = 0xFF800000 : f32} : !scores, !indices, !segments
  %weights = heddle.softmax %masked : !scores
  %result = heddle.context %weights, %x queries(%s, %l) keys(%s, %l)
    {query_size = "target_length", key_size = "target_length"} : (!scores, !tokens, !segments, !segments, !segments, !segments) -> !tokens
  return %result : !tokens
}

// The value between scores and mask is an output.
// CHECK-LABEL: func.func @inside_used_twice
// CHECK: heddle.context
func.func @inside_used_twice(%x: !tokens, %s: !segments, %l: !segments) -> (!tokens, !scores) {
  %product = heddle.scores %x, %x queries(%s, %l) keys(%s, %l)
    {query_size = "target_length", key_size = "target_length"} : (!tokens, !tokens, !segments, !segments, !segments, !segments) -> !scores
  %cscaled = heddle.fill 0.5 : f32 : !scores
  %scaled = arith.mulf %product, %cscaled : !scores
  %cap = heddle.fill 30.0 : f32 : !scores
  %part = arith.divf %scaled, %cap : !scores
  %soft = math.tanh %part : !scores
  %capped = arith.mulf %soft, %cap : !scores
  %position, %sequence = heddle.locate rows(%s, %l) {row_size = "target_length"} : !segments -> !indices
  %masked = heddle.mask %capped at(%position, %sequence) keys(%l) {value = 0xFF800000 : f32} : !scores, !indices, !segments
  %weights = heddle.softmax %masked : !scores
  %result = heddle.context %weights, %x queries(%s, %l) keys(%s, %l)
    {query_size = "target_length", key_size = "target_length"} : (!scores, !tokens, !segments, !segments, !segments, !segments) -> !tokens
  return %result, %soft : !tokens, !scores
}

!places = tensor<?x2x16xi32, #heddle.dims<"target_tokens">>

// The bias depends on an index that is not the query's.
// CHECK-LABEL: func.func @places_of_others
// CHECK: heddle.context
func.func @places_of_others(%x: !tokens, %other: !indices, %s: !segments, %l: !segments) -> !tokens {
  %position, %sequence = heddle.locate rows(%s, %l) {row_size = "target_length"} : !segments -> !indices
  %product = heddle.scores %x, %x queries(%s, %l) keys(%s, %l)
    {query_size = "target_length", key_size = "target_length"} : (!tokens, !tokens, !segments, !segments, !segments, !segments) -> !scores
  %query = heddle.broadcast %other : !indices to !places
  %key = heddle.iota {dim = 2 : i64} : !places
  %head = heddle.iota {dim = 1 : i64} : !places
  %distance = arith.subi %query, %key : !places
  %steps = arith.muli %distance, %head : !places
  %far = arith.sitofp %steps : !places to !scores
  %biased = arith.subf %product, %far : !scores
  %masked = heddle.mask %biased at(%position, %sequence) keys(%l) {value = 0xFF800000 : f32} : !scores, !indices, !segments
  %weights = heddle.softmax %masked : !scores
  %result = heddle.context %weights, %x queries(%s, %l) keys(%s, %l)
    {query_size = "target_length", key_size = "target_length"} : (!scores, !tokens, !segments, !segments, !segments, !segments) -> !tokens
  return %result : !tokens
}

// The scores are the sum of two matmuls.
// CHECK-LABEL: func.func @two_scores
// CHECK: heddle.context
func.func @two_scores(%x: !tokens, %y: !tokens, %s: !segments, %l: !segments) -> !tokens {
  %product = heddle.scores %x, %x queries(%s, %l) keys(%s, %l)
    {query_size = "target_length", key_size = "target_length"} : (!tokens, !tokens, !segments, !segments, !segments, !segments) -> !scores
  %second = heddle.scores %y, %y queries(%s, %l) keys(%s, %l)
    {query_size = "target_length", key_size = "target_length"} : (!tokens, !tokens, !segments, !segments, !segments, !segments) -> !scores
  %sum = arith.addf %product, %second : !scores
  %position, %sequence = heddle.locate rows(%s, %l) {row_size = "target_length"} : !segments -> !indices
  %masked = heddle.mask %sum at(%position, %sequence) keys(%l) {value = 0xFF800000 : f32} : !scores, !indices, !segments
  %weights = heddle.softmax %masked : !scores
  %result = heddle.context %weights, %x queries(%s, %l) keys(%s, %l)
    {query_size = "target_length", key_size = "target_length"} : (!scores, !tokens, !segments, !segments, !segments, !segments) -> !tokens
  return %result : !tokens
}

// The scores are not dot products.
// CHECK-LABEL: func.func @combined
// CHECK: heddle.context
func.func @combined(%x: !tokens, %s: !segments, %l: !segments) -> !tokens {
  %distance = heddle.scores %x, %x queries(%s, %l) keys(%s, %l) combine {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.subf %a, %b : f32
    %1 = arith.mulf %0, %0 : f32
    heddle.yield %1 : f32
  } {query_size = "target_length", key_size = "target_length"} : (!tokens, !tokens, !segments, !segments, !segments, !segments) -> !scores
  %position, %sequence = heddle.locate rows(%s, %l) {row_size = "target_length"} : !segments -> !indices
  %masked = heddle.mask %distance at(%position, %sequence) keys(%l) {value = 0xFF800000 : f32} : !scores, !indices, !segments
  %weights = heddle.softmax %masked : !scores
  %result = heddle.context %weights, %x queries(%s, %l) keys(%s, %l)
    {query_size = "target_length", key_size = "target_length"} : (!scores, !tokens, !segments, !segments, !segments, !segments) -> !tokens
  return %result : !tokens
}

// Two heads of 257 columns; those of 256 are fused (fuse-attention.mlir).
!wide = tensor<?x514xf32, #heddle.dims<"target_tokens">>
// CHECK-LABEL: func.func @wide_heads
// CHECK: heddle.context
func.func @wide_heads(%x: !wide, %s: !segments, %l: !segments) -> !wide {
  %product = heddle.scores %x, %x queries(%s, %l) keys(%s, %l)
    {query_size = "target_length", key_size = "target_length"} : (!wide, !wide, !segments, !segments, !segments, !segments) -> !scores
  %position, %sequence = heddle.locate rows(%s, %l) {row_size = "target_length"} : !segments -> !indices
  %masked = heddle.mask %product at(%position, %sequence) keys(%l) {value = 0xFF800000 : f32} : !scores, !indices, !segments
  %weights = heddle.softmax %masked : !scores
  %result = heddle.context %weights, %x queries(%s, %l) keys(%s, %l)
    {query_size = "target_length", key_size = "target_length"} : (!scores, !wide, !segments, !segments, !segments, !segments) -> !wide
  return %result : !wide
}
