// Attention, forward and backward, on vulkan:software. A workgroup owns 32 rows of one sequence and one head of 16
// columns. Each lane has 4 rows.
// RUN: heddle-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile)' | FileCheck %s
// RUN: heddle-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=cuda:sm_90a})' | FileCheck %s --check-prefix=GPU

!x = tensor<?x64xf32, #heddle.dims<"tokens">>
!heads = tensor<?x4xf32, #heddle.dims<"tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
heddle.size @tokens max 2048
heddle.size @sequences max 64
heddle.size @length max 256 longest "lengths"

// A causal mask bounds the loop: no key after the tile's last query is visited. The maximum and the sum so far are
// columns. Scores exist only in the loop.
// CHECK-LABEL: func.func @causal(
// CHECK: tile.launch @attention_Tx64(%arg0, %arg1, %arg2) grid [#tile.grid<"length", 32, 1>, #tile.grid<"", 1, 4>, #tile.grid<"sequences", 1, 1>] sizes [] reuse [-1, -1] :
// CHECK-LABEL: tile.func @attention_Tx64(
// CHECK-SAME: %[[X:.*]]: memref<?x64xf32>, %[[STARTS:.*]]: memref<?x1xi32>, %[[LENGTHS:.*]]: memref<?x1xi32>, %[[OUT:.*]]: memref<?x64xf32>, %[[LSE:.*]]: memref<?x4xf32>) attributes {mapping = #tile.mapping<rows>
// CHECK: %[[BLOCK:.*]] = gpu.block_id x
// CHECK: %[[HEAD:.*]] = gpu.block_id y
// CHECK: %[[SEQUENCE:.*]] = gpu.block_id z
// CHECK: memref.load %[[STARTS]][%[[SEQUENCE]], %c0
// CHECK: %[[START:.*]] = arith.index_castui
// CHECK: memref.load %[[LENGTHS]][%[[SEQUENCE]], %c0
// CHECK: %[[LENGTH:.*]] = arith.index_castui
// CHECK: %[[FIRST:.*]] = arith.muli %[[BLOCK]], %c32
// CHECK: %[[COLUMN:.*]] = arith.muli %[[HEAD]], %c16
// CHECK: %[[END:.*]] = arith.addi %[[START]], %[[LENGTH]]
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[FIRST]], %[[LENGTH]]
// CHECK: scf.if %[[INSIDE]] {
// The scores are in units of log(2): the query is multiplied by the scale times log2(e).
// CHECK:   %[[Q:.*]] = tile.load %[[X]][%{{.*}}, %[[COLUMN]]] rows(%[[END]]) {any_padding} : {{.*}} -> tensor<32x16xf32>
// CHECK:   %[[SCALE:.*]] = arith.constant dense<0.360673755> : tensor<32x16xf32>
// CHECK:   %[[SCALED:.*]] = arith.mulf %[[Q]], %[[SCALE]]
// CHECK:   %[[PAST:.*]] = arith.addi %[[FIRST]], %c32
// CHECK:   %[[LAST:.*]] = arith.minsi %[[LENGTH]], %[[PAST]]
// CHECK:   %[[R:.*]]:3 = scf.for %[[KEY:.*]] = %c0{{.*}} to %[[LAST]] step %c8{{.*}} -> (tensor<32x1xf32>, tensor<32x1xf32>, tensor<32x16xf32>) {
// Whether a key is inside its sequence is computed once for each key, not for each score.
// CHECK:     arith.cmpi slt, {{.*}} : tensor<1x8xi32>
// CHECK:     arith.cmpi sle, {{.*}} : tensor<32x8xi32>
// CHECK:     %[[COUNTS:.*]] = arith.andi
// CHECK:     %[[K:.*]] = tile.load %[[X]]{{.*}} rows(%[[END]])
// CHECK:     %[[SCORES:.*]] = tile.dot %[[SCALED]], %[[K]], %{{.*}} {transpose_rhs}
// CHECK:     arith.select %[[COUNTS]], %[[SCORES]]
// CHECK:     tile.reduce max
// CHECK:     math.exp2
// CHECK:     tile.reduce sum
// CHECK:     tile.dot %{{.*}}, %[[K]], %{{.*}} : tensor<32x8xf32>, tensor<8x16xf32> -> tensor<32x16xf32>
// CHECK:   }
// CHECK:   tile.store %{{.*}}, %[[OUT]][%{{.*}}, %[[COLUMN]]] rows(%[[END]])
// CHECK:   math.log
// CHECK:   tile.store %{{.*}}, %[[LSE]][%{{.*}}, %[[HEAD]]] rows(%[[END]]) : tensor<32x1xf32>
// CHECK: }
// CHECK-NEXT: tile.return
func.func @causal(%x: !x, %s: !segments, %l: !segments) -> (!x, !heads) {
  %y, %lse = heddle.attention %x, %x, %x queries(%s, %l) keys(%s, %l) mask {
  ^bb0(%i: i32, %j: i32):
    %c = arith.cmpi sle, %j, %i : i32
    heddle.yield %c : i1
  } {heads = 4 : i64, scale = 0.25 : f32, query_size = "length", key_size = "length"}
    : (!x, !x, !x, !segments, !segments, !segments, !segments) -> (!x, !heads)
  return %y, %lse : !x, !heads
}

// -----

!x = tensor<?x64xf32, #heddle.dims<"tokens">>
!heads = tensor<?x4xf32, #heddle.dims<"tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
heddle.size @tokens max 2048
heddle.size @sequences max 64
heddle.size @length max 256 longest "lengths"

// A mask is computed like any elementwise op. This one excludes keys more than 31 before the tile's first query. The
// loop starts at a multiple of the step. Dropout has a stream for each head.
// CHECK-LABEL: tile.func @attention_Tx64(
// CHECK: %[[HEAD:.*]] = gpu.block_id y
// CHECK: %[[FIRST:.*]] = arith.muli %{{.*}}, %c32
// CHECK: arith.cmpi ult, %[[FIRST]], %[[LENGTH:.*]] : index
// CHECK: %[[BEFORE:.*]] = arith.addi %[[FIRST]], %c-31
// CHECK: %[[BEGIN:.*]] = arith.maxsi %[[BEFORE]], %c0
// CHECK: %[[OVER:.*]] = arith.remui %[[BEGIN]], %c8
// CHECK: %[[START:.*]] = arith.subi %[[BEGIN]], %[[OVER]]
// CHECK: scf.for %{{.*}} = %[[START]] to %[[LENGTH]] step %c8
// CHECK:   %[[DISTANCE:.*]] = arith.subi
// CHECK:   arith.cmpi slt, %[[DISTANCE]], %{{.*}} : tensor<32x8xi32>
// CHECK:   %[[SITE:.*]] = arith.shli %{{.*}}, %c16_i32
// CHECK:   %[[NUMBER:.*]] = arith.index_cast %[[HEAD]] : index to i32
// CHECK:   %[[STREAM:.*]] = arith.addi %[[SITE]], %[[NUMBER]]
// CHECK:   tile.random seed(%{{.*}}, %{{.*}}) step %{{.*}} stream %[[STREAM]]
func.func @window(%x: !x, %s: !segments, %l: !segments, %seed: tensor<2xi32>, %step: tensor<1xi32>) -> !x {
  %y, %lse = heddle.attention %x, %x, %x queries(%s, %l) keys(%s, %l) dropout(%seed, %step) mask {
  ^bb0(%i: i32, %j: i32):
    %far = arith.constant 32 : i32
    %d = arith.subi %i, %j : i32
    %c = arith.cmpi slt, %d, %far : i32
    heddle.yield %c : i1
  } {heads = 4 : i64, scale = 0.25 : f32, dropout = 0.1 : f32, stream = 7 : i32, query_size = "length", key_size = "length"}
    : (!x, !x, !x, !segments, !segments, !segments, !segments, tensor<2xi32>, tensor<1xi32>) -> (!x, !heads)
  return %y : !x
}

// -----

!x = tensor<?x64xf32, #heddle.dims<"sequences">>
!heads = tensor<?x4xf32, #heddle.dims<"sequences">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
heddle.size @sequences max 64
heddle.size @cache_length max 256 longest "cache_lengths"

// One query for each sequence, over a cache: one workgroup for each head and sequence. The keys of a step are
// distributed over the lanes, and four lanes share a key's row. Each row of the tiles has a softmax of its own. They
// are merged at the end.
// CHECK-LABEL: func.func @decode(
// CHECK: tile.launch @attention_Tx64({{.*}}) grid [#tile.grid<"", 1, 1>, #tile.grid<"", 1, 4>, #tile.grid<"sequences", 1, 1>]
// CHECK-LABEL: tile.func @attention_Tx64(
// CHECK-SAME: attributes {mapping = #tile.mapping<quads>, row_lanes = 4 : i64, vector = 4 : i64, workgroup = 8 : i64}
// CHECK: %[[Q:.*]] = tile.load %arg0{{.*}} -> tensor<1x16xf32>
// CHECK: %[[ALL:.*]]:3 = scf.for {{.*}} iter_args(%[[M:.*]] = %{{.*}}, %[[L:.*]] = %{{.*}}, %[[O:.*]] = %{{.*}}) -> (tensor<32x1xf32>, tensor<32x1xf32>, tensor<32x16xf32>)
// CHECK: tile.load %arg1{{.*}} -> tensor<32x16xf32>
// CHECK: tile.reduce sum %{{.*}} dim 1 : tensor<32x16xf32> -> tensor<32x1xf32>
// CHECK-NOT: tile.dot
// CHECK: %[[LARGEST:.*]] = tile.reduce max %[[ALL]]#0 dim 0 : tensor<32x1xf32> -> tensor<1x1xf32>
// CHECK: %[[WIDE:.*]] = tile.broadcast %[[LARGEST]]
// CHECK: %[[LESS:.*]] = arith.subf %[[ALL]]#0, %[[WIDE]]
// CHECK: %[[RESCALE:.*]] = math.exp2 %[[LESS]]
// CHECK: tile.reduce sum %{{.*}} dim 0 : tensor<32x1xf32> -> tensor<1x1xf32>
// CHECK: tile.reduce sum %{{.*}} dim 0 : tensor<32x16xf32> -> tensor<1x16xf32>
// CHECK: tile.store {{.*}} : tensor<1x16xf32>, memref<?x64xf32>
// GPU-LABEL: tile.func @attention_Tx64(
func.func @decode(%x: !x, %cache: tensor<1024x64xf32>, %s: !segments, %l: !segments, %ks: !segments, %kl: !segments) -> !x {
  %y, %lse = heddle.attention %x, %cache, %cache queries(%s, %l) keys(%ks, %kl)
    {heads = 4 : i64, scale = 0.25 : f32, query_size = "", key_size = "cache_length"}
    : (!x, tensor<1024x64xf32>, tensor<1024x64xf32>, !segments, !segments, !segments, !segments) -> (!x, !heads)
  return %y : !x
}

// -----

!x = tensor<?x64xf32, #heddle.dims<"sequences">>
!heads = tensor<?x4xf32, #heddle.dims<"sequences">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
!cache = tensor<1024x64xf32>
heddle.size @sequences max 64
heddle.size @cache_length max 256 longest "cache_lengths"

// CHECK-LABEL: func.func @one_query_gradient(
// CHECK: tile.launch @attention_grad_key_value_1024x64({{.*}}) grid [#tile.grid<"cache_length", 32, 1>, #tile.grid<"", 1, 4>, #tile.grid<"sequences", 1, 1>]
func.func @one_query_gradient(%x: !x, %cache: !cache, %lse: !heads, %s: !segments, %l: !segments, %ks: !segments,
                              %kl: !segments) -> (!cache, !cache) {
  %k, %v = heddle.attention_grad_key_value %x, %cache, %cache gradient %x, %lse, %lse queries(%s, %l) keys(%ks, %kl)
    {heads = 4 : i64, scale = 0.25 : f32, query_size = "", key_size = "cache_length"}
    : (!x, !cache, !cache, !x, !heads, !heads, !segments, !segments, !segments, !segments) -> (!cache, !cache)
  return %k, %v : !cache, !cache
}

// -----

!x = tensor<?x64xf32, #heddle.dims<"tokens">>
!heads = tensor<?x4xf32, #heddle.dims<"tokens">>
heddle.size @tokens max 2048

// CHECK-LABEL: func.func @delta(
// CHECK: tile.launch @attention_delta_Tx4(%arg0, %arg1) grid [#tile.grid<"tokens", 8, 1>, #tile.grid<"", 1, 4>, #tile.grid<"", 1, 1>] sizes ["tokens"]
// CHECK-LABEL: tile.func @attention_delta_Tx4(
// CHECK: %[[P:.*]] = arith.mulf %{{.*}} : tensor<8x16xf32>
// CHECK: %[[S:.*]] = tile.reduce sum %[[P]] dim 1
// CHECK: tile.store %[[S]], %arg2[%{{.*}}, %{{.*}}] rows(%arg3) : tensor<8x1xf32>, memref<?x4xf32>
// Heads of 16 columns are narrower than a subgroup.
// GPU: tile.launch @attention_delta_Tx4(%arg0, %arg1) grid [#tile.grid<"tokens", 32, 1>, #tile.grid<"", 1, 4>
func.func @delta(%forward: !x, %gradient: !x) -> !heads {
  %d = heddle.attention_delta %forward, %gradient : !x -> !heads
  return %d : !heads
}

// -----

!x = tensor<?x64xf32, #heddle.dims<"tokens">>
!heads = tensor<?x4xf32, #heddle.dims<"tokens">>
heddle.size @tokens max 2048

// The gradient is rounded to tf32, to the nearest.
// GPU-LABEL: tile.func @attention_delta_Tx4(
// GPU: %[[Y:.*]] = tile.load %arg0
// GPU: %[[G:.*]] = tile.load %arg1
// GPU: %[[BITS:.*]] = arith.bitcast %[[G]] : tensor<{{.*}}xf32> to tensor<{{.*}}xi32>
// GPU: %[[SUM:.*]] = arith.addi %[[BITS]], %[[HALF:.*]] :
// GPU: %[[KEPT:.*]] = arith.andi %[[SUM]], %[[MASK:.*]] :
// GPU: %[[ROUNDED:.*]] = arith.bitcast %[[KEPT]]
// GPU: arith.mulf %[[Y]], %[[ROUNDED]]
func.func @rounded_delta(%forward: !x, %gradient: !x) -> !heads {
  %d = heddle.attention_delta %forward, %gradient {heddle.tf32} : !x -> !heads
  return %d : !heads
}

// -----

!x = tensor<?x256xbf16, #heddle.dims<"tokens">>
!wide = tensor<?x256xf32, #heddle.dims<"tokens">>
!heads = tensor<?x4xf32, #heddle.dims<"tokens">>
heddle.size @tokens max 2048

// The lanes of a subgroup share the 64 columns of a head, two columns each, of eight tokens at once. Four subgroups
// share a workgroup. Rounded operands are widened where they are read.
// GPU-LABEL: func.func @wide_delta(
// GPU: tile.launch @attention_delta_Tx4(%arg0, %arg1) grid [#tile.grid<"tokens", 32, 1>, #tile.grid<"", 1, 4>, #tile.grid<"", 1, 1>]
// GPU-LABEL: tile.func @attention_delta_Tx4(
// GPU-SAME: attributes {mapping = #tile.mapping<columns>, vector = 2 : i64, workgroup = 128 : i64}
// GPU-COUNT-2: arith.extf %{{.*}} : tensor<32x64xbf16> to tensor<32x64xf32>
// GPU: tile.reduce sum %{{.*}} dim 1 : tensor<32x64xf32> -> tensor<32x1xf32>
func.func @wide_delta(%forward: !x, %gradient: !x) -> !heads {
  %f = arith.extf %forward : !x to !wide
  %g = arith.extf %gradient : !x to !wide
  %d = heddle.attention_delta %f, %g : !wide -> !heads
  return %d : !heads
}

// -----

!x = tensor<?x64xf32, #heddle.dims<"target_tokens">>
!m = tensor<?x64xf32, #heddle.dims<"source_tokens">>
!heads = tensor<?x4xf32, #heddle.dims<"target_tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
heddle.size @target_tokens max 2048
heddle.size @source_tokens max 2048
heddle.size @sequences max 64
heddle.size @source_length max 256 longest "source_lengths"
heddle.size @target_length max 256 longest "target_lengths"

// Cross-attention backward, once over the queries and once over the keys: no atomics. The probabilities are recomputed
// from log-sum-exp.
// CHECK-LABEL: func.func @gradients(
// CHECK: tile.launch @attention_grad_query_Tx64({{.*}}) grid [#tile.grid<"target_length", 32, 1>, #tile.grid<"", 1, 4>, #tile.grid<"sequences", 1, 1>]
// CHECK: tile.launch @attention_grad_key_value_Tx64({{.*}}) grid [#tile.grid<"source_length", 32, 1>, #tile.grid<"", 1, 4>, #tile.grid<"sequences", 1, 1>]

// CHECK-LABEL: tile.func @attention_grad_query_Tx64(
// CHECK-SAME: %[[Q:[^:]*]]: memref<?x64xf32>, %[[M:[^:]*]]: memref<?x64xf32>, %[[G:[^:]*]]: memref<?x64xf32>, %[[LSE:[^:]*]]: memref<?x4xf32>, %[[DELTA:[^:]*]]: memref<?x4xf32>, {{.*}}, %[[OUT:[^:]*]]: memref<?x64xf32>) attributes
// CHECK: scf.if
// CHECK:   tile.load %[[Q]]{{.*}} -> tensor<32x16xf32>
// CHECK:   tile.load %[[G]]{{.*}} -> tensor<32x16xf32>
// CHECK:   tile.load %[[LSE]]{{.*}} -> tensor<32x1xf32>
// CHECK:   tile.load %[[DELTA]]{{.*}} -> tensor<32x1xf32>
// CHECK:   scf.for
// CHECK:     tile.load %[[M]]{{.*}} -> tensor<8x16xf32>
// CHECK:     tile.dot {{.*}} {transpose_rhs}
// CHECK:     math.exp2
// The matmul's accumulator starts at minus delta, which saves the subtraction.
// CHECK:     %[[LESS:.*]] = tile.broadcast
// CHECK:     %[[DIFFERENCE:.*]] = tile.dot %{{.*}}, %{{.*}}, %[[LESS]] {transpose_rhs}
// CHECK:     arith.mulf %{{.*}}, %[[DIFFERENCE]]
// CHECK:     %[[NEXT:.*]] = tile.dot %{{.*}}, %{{.*}}, %{{.*}} : tensor<32x8xf32>, tensor<8x16xf32> -> tensor<32x16xf32>
// CHECK-NEXT: scf.yield %[[NEXT]]
// CHECK:   tile.store %{{.*}}, %[[OUT]]

// Here numbers per query lie along the columns of the scores, so they are loaded as rows.
// CHECK-LABEL: tile.func @attention_grad_key_value_Tx64(
// CHECK-SAME: %[[Q:[^:]*]]: memref<?x64xf32>, %[[M:[^:]*]]: memref<?x64xf32>, %[[G:[^:]*]]: memref<?x64xf32>, %[[LSE:[^:]*]]: memref<?x4xf32>, %[[DELTA:[^:]*]]: memref<?x4xf32>, {{.*}}, %[[DK:[^:]*]]: memref<?x64xf32>, %[[DV:[^:]*]]: memref<?x64xf32>) attributes
// CHECK: scf.if
// CHECK:   tile.load %[[M]]{{.*}} -> tensor<32x16xf32>
// CHECK:   %[[T:.*]]:2 = scf.for
// CHECK:     tile.load %[[Q]]{{.*}} -> tensor<8x16xf32>
// CHECK:     tile.load %[[G]]{{.*}} -> tensor<8x16xf32>
// CHECK:     tile.load %[[LSE]]{{.*}} {any_padding, transposed} : memref<?x4xf32> -> tensor<1x8xf32>
// CHECK:     tile.load %[[DELTA]]{{.*}} {any_padding, transposed} : memref<?x4xf32> -> tensor<1x8xf32>
// CHECK:     scf.yield
// CHECK:   tile.store %{{.*}}, %[[DK]]
// CHECK:   tile.store %[[T]]#1, %[[DV]]
func.func @gradients(%x: !x, %m: !m, %g: !x, %lse: !heads, %delta: !heads, %s: !segments, %l: !segments, %ks: !segments,
                     %kl: !segments) -> (!x, !m, !m) {
  %q = heddle.attention_grad_query %x, %m, %m gradient %g, %lse, %delta queries(%s, %l) keys(%ks, %kl)
    {heads = 4 : i64, scale = 0.25 : f32, query_size = "target_length", key_size = "source_length"}
    : (!x, !m, !m, !x, !heads, !heads, !segments, !segments, !segments, !segments) -> !x
  %k, %v = heddle.attention_grad_key_value %x, %m, %m gradient %g, %lse, %delta queries(%s, %l) keys(%ks, %kl)
    {heads = 4 : i64, scale = 0.25 : f32, query_size = "target_length", key_size = "source_length"}
    : (!x, !m, !m, !x, !heads, !heads, !segments, !segments, !segments, !segments) -> (!m, !m)
  return %q, %k, %v : !x, !m, !m
}

// -----

!x = tensor<?x64xf32, #heddle.dims<"tokens">>
!heads = tensor<?x4xf32, #heddle.dims<"tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
heddle.size @tokens max 2048
heddle.size @sequences max 64
heddle.size @length max 256 longest "lengths"

// Under a causal mask the loop over the queries starts at the tile's first key, and the loop over the keys ends at the
// tile's last query.
// CHECK-LABEL: tile.func @attention_grad_query_Tx64(
// CHECK: %[[FIRST:.*]] = arith.muli %{{.*}}, %c32
// CHECK: %[[PAST:.*]] = arith.addi %[[FIRST]], %c32
// CHECK: %[[LAST:.*]] = arith.minsi %{{.*}}, %[[PAST]]
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %[[LAST]]
// CHECK-LABEL: tile.func @attention_grad_key_value_Tx64(
// CHECK: %[[FIRST:.*]] = arith.muli %{{.*}}, %c32
// CHECK: arith.cmpi ult, %[[FIRST]], %[[LENGTH:.*]] : index
// CHECK: %[[BEGIN:.*]] = arith.maxsi %[[FIRST]], %c0
// CHECK: %[[OVER:.*]] = arith.remui %[[BEGIN]], %c8
// CHECK: %[[START:.*]] = arith.subi %[[BEGIN]], %[[OVER]]
// CHECK: scf.for %{{.*}} = %[[START]] to %[[LENGTH]]
func.func @causal_gradients(%x: !x, %lse: !heads, %s: !segments, %l: !segments) -> (!x, !x, !x) {
  %q = heddle.attention_grad_query %x, %x, %x gradient %x, %lse, %lse queries(%s, %l) keys(%s, %l) mask {
  ^bb0(%i: i32, %j: i32):
    %c = arith.cmpi sge, %i, %j : i32
    heddle.yield %c : i1
  } {heads = 4 : i64, scale = 0.25 : f32, query_size = "length", key_size = "length"}
    : (!x, !x, !x, !x, !heads, !heads, !segments, !segments, !segments, !segments) -> !x
  %k, %v = heddle.attention_grad_key_value %x, %x, %x gradient %x, %lse, %lse queries(%s, %l) keys(%s, %l) mask {
  ^bb0(%i: i32, %j: i32):
    %c = arith.cmpi sge, %i, %j : i32
    heddle.yield %c : i1
  } {heads = 4 : i64, scale = 0.25 : f32, query_size = "length", key_size = "length"}
    : (!x, !x, !x, !x, !heads, !heads, !segments, !segments, !segments, !segments) -> (!x, !x)
  return %q, %k, %v : !x, !x, !x
}

// -----

!x = tensor<?x64xf32, #heddle.dims<"tokens">>
!wide = tensor<?x256xf32, #heddle.dims<"tokens">>
!head = tensor<?x1xf32, #heddle.dims<"tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
heddle.size @tokens max 2048
heddle.size @sequences max 64
heddle.size @length max 256 longest "lengths"

// A step's loops are unrolled: the wider the head, the fewer keys a step has, and then the fewer rows a lane owns.
// CHECK-LABEL: func.func @widths(
// CHECK: tile.launch @attention_Tx64({{.*}} grid [#tile.grid<"length", 32, 1>,
// CHECK: tile.launch @attention_Tx256({{.*}} grid [#tile.grid<"length", 16, 1>,
// CHECK-LABEL: tile.func @attention_Tx64(
// CHECK: scf.for {{.*}} step %c8
// CHECK: tile.dot {{.*}} {transpose_rhs} : tensor<32x64xf32>, tensor<8x64xf32> -> tensor<32x8xf32>
// CHECK-LABEL: tile.func @attention_Tx256(
// CHECK: scf.for {{.*}} step %c4
// CHECK: tile.dot {{.*}} {transpose_rhs} : tensor<16x256xf32>, tensor<4x256xf32> -> tensor<16x4xf32>
func.func @widths(%x: !x, %wide: !wide, %s: !segments, %l: !segments) -> (!x, !wide) {
  %0, %lse0 = heddle.attention %x, %x, %x queries(%s, %l) keys(%s, %l)
    {heads = 1 : i64, scale = 0.25 : f32, query_size = "length", key_size = "length"}
    : (!x, !x, !x, !segments, !segments, !segments, !segments) -> (!x, !head)
  %1, %lse1 = heddle.attention %wide, %wide, %wide queries(%s, %l) keys(%s, %l)
    {heads = 1 : i64, scale = 0.25 : f32, query_size = "length", key_size = "length"}
    : (!wide, !wide, !wide, !segments, !segments, !segments, !segments) -> (!wide, !head)
  return %0, %1 : !x, !wide
}

// -----

!x = tensor<?x64xf32, #heddle.dims<"sequences">>
!heads = tensor<?x4xf32, #heddle.dims<"sequences">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
!rows = tensor<?x256xi32, #heddle.dims<"sequences">>
heddle.size @sequences max 64
heddle.size @length max 256 longest "lengths"
heddle.variable @keys cache : tensor<2048x64xf32>
heddle.variable @values cache : tensor<2048x64xf32>

// Keys and values that are not contiguous are gathered by the sequence's list of rows, which is read as a column.
// CHECK-LABEL: tile.func @attention_Tx64(
// CHECK-SAME: %[[Q:.*]]: memref<?x64xf32>, %[[K:.*]]: memref<2048x64xf32>, %[[V:.*]]: memref<2048x64xf32>, %[[ROWS:.*]]: memref<?x256xi32>, %[[STARTS:.*]]: memref<?x1xi32>
// CHECK: %[[HEAD:.*]] = gpu.block_id y
// CHECK: %[[SEQUENCE:.*]] = gpu.block_id z
// CHECK: %[[COLUMN:.*]] = arith.muli %[[HEAD]], %c16
// CHECK: scf.for
// CHECK: %[[LIST:.*]] = tile.load %[[ROWS]][%[[SEQUENCE]], %{{.*}}] columns(%{{.*}}) {transposed} : memref<?x256xi32> -> tensor<[[STEP:[0-9]+]]x1xi32>
// CHECK: tile.gather %[[K]][%[[LIST]], %[[COLUMN]]] : memref<2048x64xf32>, tensor<[[STEP]]x1xi32> -> tensor<[[STEP]]x16xf32>
// CHECK: tile.gather %[[V]][%[[LIST]], %[[COLUMN]]]
func.func @rows(%q: !x, %rows: !rows, %starts: !segments, %lengths: !segments) -> !x {
  %k = heddle.read @keys : tensor<2048x64xf32>
  %v = heddle.read @values : tensor<2048x64xf32>
  %y, %lse = heddle.attention %q, %k, %v rows(%rows) queries(%starts, %lengths) keys(%starts, %lengths)
    {heads = 4 : i64, scale = 0.25 : f32, query_size = "", key_size = "length"}
    : (!x, tensor<2048x64xf32>, tensor<2048x64xf32>, !rows, !segments, !segments, !segments, !segments) -> (!x, !heads)
  return %y : !x
}
