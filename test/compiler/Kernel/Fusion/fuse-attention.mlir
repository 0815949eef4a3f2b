// RUN: heddle-opt %s --heddle-fuse-attention | FileCheck %s
// RUN: heddle-opt %s --heddle-fuse-attention --remarks-filter-passed=fuse-attention -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: remark: [Passed] fused | Category:fuse-attention | Function=self | Into=attention, What="scores, mask, softmax, dropout, context"

!tokens = tensor<?x8xf32, #heddle.dims<"target_tokens">>
!scores = tensor<?x2x16xf32, #heddle.dims<"target_tokens">>
!indices = tensor<?xi32, #heddle.dims<"target_tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
!sources = tensor<?x8xf32, #heddle.dims<"source_tokens">>

// The decoder's self-attention: causal, with dropout on the weights.
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
  %product = heddle.scores %query, %key queries(%s, %l) keys(%s, %l)
    {query_size = "target_length", key_size = "target_length"} : (!tokens, !tokens, !segments, !segments, !segments, !segments) -> !scores
  %cscaled = heddle.fill 0.5 : f32 : !scores
  %scaled = arith.mulf %product, %cscaled : !scores
  %position, %sequence = heddle.locate rows(%s, %l) {row_size = "target_length"} : !segments -> !indices
  %masked = heddle.mask %scaled at(%position, %sequence) keys(%l) mask {
  ^bb0(%i: i32, %j: i32):
    %counts = arith.cmpi sle, %j, %i : i32
    heddle.yield %counts : i1
  } {value = 0xFF800000 : f32} : !scores, !indices, !segments
  %weights = heddle.softmax %masked : !scores
  %dropped = heddle.dropout %weights seed %seed step %step {rate = 0.1 : f32, stream = 7 : i32} : !scores
  %result = heddle.context %dropped, %value queries(%s, %l) keys(%s, %l)
    {query_size = "target_length", key_size = "target_length"} : (!scores, !tokens, !segments, !segments, !segments, !segments) -> !tokens
  return %result : !tokens
}

// A sink becomes an operand of the attention.
// CHECK-LABEL: func.func @sink
func.func @sink(%x: !tokens, %sink: tensor<2xf32>, %s: !segments, %l: !segments) -> !tokens {
  // CHECK-NEXT: %[[R:.*]], %{{.*}} = heddle.attention %arg0, %arg0, %arg0 sink(%arg1) queries(%arg2, %arg3) keys(%arg2, %arg3) {heads = 2
  // CHECK-NEXT: return %[[R]]
  %product = heddle.scores %x, %x queries(%s, %l) keys(%s, %l)
    {query_size = "target_length", key_size = "target_length"} : (!tokens, !tokens, !segments, !segments, !segments, !segments) -> !scores
  %position, %sequence = heddle.locate rows(%s, %l) {row_size = "target_length"} : !segments -> !indices
  %masked = heddle.mask %product at(%position, %sequence) keys(%l) {value = 0xFF800000 : f32} : !scores, !indices, !segments
  %weights = heddle.softmax %masked sink(%sink : tensor<2xf32>) : !scores
  %result = heddle.context %weights, %x queries(%s, %l) keys(%s, %l)
    {query_size = "target_length", key_size = "target_length"} : (!scores, !tokens, !segments, !segments, !segments, !segments) -> !tokens
  return %result : !tokens
}

// Cross-attention without a scale.
// CHECK-LABEL: func.func @cross
// CHECK-SAME: %[[Q:.*]]: tensor<?x8xf32, #heddle.dims<"target_tokens">>, %[[M:.*]]: tensor<?x8xf32, #heddle.dims<"source_tokens">>
func.func @cross(%query: !tokens, %memory: !sources, %s: !segments, %l: !segments, %ks: !segments, %kl: !segments) -> !tokens {
  // CHECK-NEXT: %[[R:.*]], %{{.*}} = heddle.attention %[[Q]], %[[M]], %[[M]] queries(%{{.*}}, %{{.*}}) keys(%{{.*}}, %{{.*}}) {heads = 2 : i64, key_size = "source_length", query_size = "target_length", scale = 1.000000e+00 : f32}
  // CHECK-NEXT: return %[[R]]
  %product = heddle.scores %query, %memory queries(%s, %l) keys(%ks, %kl)
    {query_size = "target_length", key_size = "source_length"} : (!tokens, !sources, !segments, !segments, !segments, !segments) -> !scores
  %position, %sequence = heddle.locate rows(%s, %l) {row_size = "target_length"} : !segments -> !indices
  %masked = heddle.mask %product at(%position, %sequence) keys(%kl) {value = 0xFF800000 : f32} : !scores, !indices, !segments
  %weights = heddle.softmax %masked : !scores
  %result = heddle.context %weights, %memory queries(%s, %l) keys(%ks, %kl)
    {query_size = "target_length", key_size = "source_length"} : (!scores, !sources, !segments, !segments, !segments, !segments) -> !tokens
  return %result : !tokens
}

// All places where an importer may put the scale: 2 at the queries, 3 at the keys, 5 before the mask (with its constant
// on the left), 7 after it.
// CHECK-LABEL: func.func @scales
func.func @scales(%x: !tokens, %s: !segments, %l: !segments) -> !tokens {
  // CHECK-NEXT: heddle.attention %arg0, %arg0, %arg0 {{.*}} scale = 2.100000e+02 : f32}
  // CHECK-NEXT: return
  %cq = heddle.fill 2.0 : f32 : !tokens
  %q = arith.mulf %x, %cq : !tokens
  %ck = heddle.fill 3.0 : f32 : !tokens
  %k = arith.mulf %x, %ck : !tokens
  %product = heddle.scores %q, %k queries(%s, %l) keys(%s, %l)
    {query_size = "target_length", key_size = "target_length"} : (!tokens, !tokens, !segments, !segments, !segments, !segments) -> !scores
  %cbefore = heddle.fill 5.0 : f32 : !scores
  %before = arith.mulf %cbefore, %product : !scores
  %position, %sequence = heddle.locate rows(%s, %l) {row_size = "target_length"} : !segments -> !indices
  %masked = heddle.mask %before at(%position, %sequence) keys(%l) {value = 0xFF800000 : f32} : !scores, !indices, !segments
  %cafter = heddle.fill 7.0 : f32 : !scores
  %after = arith.mulf %masked, %cafter : !scores
  %weights = heddle.softmax %after : !scores
  %result = heddle.context %weights, %x queries(%s, %l) keys(%s, %l)
    {query_size = "target_length", key_size = "target_length"} : (!scores, !tokens, !segments, !segments, !segments, !segments) -> !tokens
  return %result : !tokens
}

// One query for each sequence, over a cache of fixed extent whose rows are gathered.
!queries = tensor<?x8xf32, #heddle.dims<"sequences">>
!row = tensor<?x2x16xf32, #heddle.dims<"sequences">>
!rows = tensor<?x16xi32, #heddle.dims<"sequences">>
// CHECK-LABEL: func.func @cache
func.func @cache(%query: !queries, %cache: tensor<64x8xf32>, %s: !segments, %rows: !rows) -> !queries {
  // CHECK-NEXT: heddle.attention %arg0, %arg1, %arg1 rows(%arg3) {{.*}} key_size = "cache_length", query_size = "",
  // CHECK-NEXT: return
  %product = heddle.scores %query, %cache rows(%rows) queries(%s, %s) keys(%s, %s) {query_size = "", key_size = "cache_length"}
    : (!queries, tensor<64x8xf32>, !rows, !segments, !segments, !segments, !segments) -> !row
  %position, %sequence = heddle.locate rows(%s, %s) {row_size = ""} : !segments -> !segments
  %masked = heddle.mask %product at(%position, %sequence) keys(%s) {value = 0xFF800000 : f32} : !row, !segments, !segments
  %weights = heddle.softmax %masked : !row
  %result = heddle.context %weights, %cache rows(%rows) queries(%s, %s) keys(%s, %s) {query_size = "", key_size = "cache_length"}
    : (!row, tensor<64x8xf32>, !rows, !segments, !segments, !segments, !segments) -> !queries
  return %result : !queries
}

// A soft cap: the arithmetic between scale and mask becomes the score region, including its constants.
// CHECK-LABEL: func.func @soft_cap
func.func @soft_cap(%x: !tokens, %s: !segments, %l: !segments) -> !tokens {
  // CHECK-NEXT: heddle.attention %arg0, %arg0, %arg0 {{.*}} score {
  // CHECK-NEXT: ^bb0(%[[SCORE:.*]]: f32, %{{.*}}: i32, %{{.*}}: i32, %{{.*}}: i32):
  // CHECK-NEXT:   %[[CAP:.*]] = arith.constant 3.000000e+01 : f32
  // CHECK-NEXT:   %[[PART:.*]] = arith.divf %[[SCORE]], %[[CAP]] : f32
  // CHECK-NEXT:   %[[SOFT:.*]] = math.tanh %[[PART]] : f32
  // CHECK-NEXT:   %[[CAPPED:.*]] = arith.mulf %[[SOFT]], %[[CAP]] : f32
  // CHECK-NEXT:   heddle.yield %[[CAPPED]] : f32
  // CHECK-NEXT: } {heads = 2 : i64, {{.*}} scale = 5.000000e-01 : f32}
  // CHECK-NEXT: return
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
  return %result : !tokens
}

// A bias that depends on distance and head. The scale comes after the mask, so it is part of the region.
!places = tensor<?x2x16xi32, #heddle.dims<"target_tokens">>
// CHECK-LABEL: func.func @bias
func.func @bias(%x: !tokens, %s: !segments, %l: !segments) -> !tokens {
  // CHECK-NEXT: heddle.attention %arg0, %arg0, %arg0 {{.*}} score {
  // CHECK-NEXT: ^bb0(%[[SCORE:.*]]: f32, %[[QUERY:.*]]: i32, %[[KEY:.*]]: i32, %[[HEAD:.*]]: i32):
  // CHECK-NEXT:   %[[TWO:.*]] = arith.constant 2.000000e+00 : f32
  // CHECK-NEXT:   %[[DISTANCE:.*]] = arith.subi %[[QUERY]], %[[KEY]] : i32
  // CHECK-NEXT:   %[[STEPS:.*]] = arith.muli %[[DISTANCE]], %[[HEAD]] : i32
  // CHECK-NEXT:   %[[FAR:.*]] = arith.sitofp %[[STEPS]] : i32 to f32
  // CHECK-NEXT:   %[[BIASED:.*]] = arith.subf %[[SCORE]], %[[FAR]] : f32
  // CHECK-NEXT:   %[[DOUBLE:.*]] = arith.mulf %[[BIASED]], %[[TWO]] : f32
  // CHECK-NEXT:   heddle.yield %[[DOUBLE]] : f32
  // CHECK-NEXT: } mask {
  // CHECK: } {heads = 2 : i64, {{.*}} scale = 1.000000e+00 : f32}
  // CHECK-NEXT: return
  %position, %sequence = heddle.locate rows(%s, %l) {row_size = "target_length"} : !segments -> !indices
  %product = heddle.scores %x, %x queries(%s, %l) keys(%s, %l)
    {query_size = "target_length", key_size = "target_length"} : (!tokens, !tokens, !segments, !segments, !segments, !segments) -> !scores
  %query = heddle.broadcast %position : !indices to !places
  %key = heddle.iota {dim = 2 : i64} : !places
  %head = heddle.iota {dim = 1 : i64} : !places
  %distance = arith.subi %query, %key : !places
  %steps = arith.muli %distance, %head : !places
  %far = arith.sitofp %steps : !places to !scores
  %biased = arith.subf %product, %far : !scores
  %masked = heddle.mask %biased at(%position, %sequence) keys(%l) mask {
  ^bb0(%i: i32, %j: i32):
    %counts = arith.cmpi sle, %j, %i : i32
    heddle.yield %counts : i1
  } {value = 0xFF800000 : f32} : !scores, !indices, !segments
  %cafter = heddle.fill 2.0 : f32 : !scores
  %after = arith.mulf %masked, %cafter : !scores
  %weights = heddle.softmax %after : !scores
  %result = heddle.context %weights, %x queries(%s, %l) keys(%s, %l)
    {query_size = "target_length", key_size = "target_length"} : (!scores, !tokens, !segments, !segments, !segments, !segments) -> !tokens
  return %result : !tokens
}

// Heads of 256 columns, the widest.
!wide = tensor<?x512xf32, #heddle.dims<"target_tokens">>
// CHECK-LABEL: func.func @wide_heads
// CHECK: heddle.attention {{.*}}
// CHECK-NOT: heddle.context
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
