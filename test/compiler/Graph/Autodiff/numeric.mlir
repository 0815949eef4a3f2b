// Every gradient rule against central differences, in float64.
// REQUIRES: numpy
// RUN: heddle-opt %s --heddle-differentiate --mlir-print-op-generic | %python %S/Inputs/check_gradients.py | FileCheck %s

!source = tensor<?x4xf32, #heddle.dims<"source_tokens">>
!target = tensor<?x4xf32, #heddle.dims<"target_tokens">>
!logits = tensor<?x6xf32, #heddle.dims<"target_tokens">>
!column = tensor<?xf32, #heddle.dims<"target_tokens">>
!indices = tensor<?xi32, #heddle.dims<"target_tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
!pooled = tensor<?x4xf32, #heddle.dims<"sequences">>
!chosen = tensor<?x4xi32, #heddle.dims<"sequences">>

heddle.variable @w weight : tensor<4x6xf32>
heddle.variable @grad.w gradient of @w as gradient : tensor<4x6xf32>
heddle.variable @t weight : tensor<6x4xf32>
heddle.variable @grad.t gradient of @t as gradient : tensor<6x4xf32>
heddle.variable @q weight : tensor<4x4xf32>
heddle.variable @grad.q gradient of @q as gradient : tensor<4x4xf32>
heddle.variable @k weight : tensor<4x4xf32>
heddle.variable @grad.k gradient of @k as gradient : tensor<4x4xf32>
heddle.variable @a weight : tensor<4xf32>
heddle.variable @grad.a gradient of @a as gradient : tensor<4xf32>
heddle.variable @b weight : tensor<4xf32>
heddle.variable @grad.b gradient of @b as gradient : tensor<4xf32>
heddle.variable @s weight : tensor<1xf32>
heddle.variable @grad.s gradient of @s as gradient : tensor<1xf32>

// CHECK: arithmetic: gradient of a agrees
// CHECK: arithmetic: gradient of b agrees
func.func @arithmetic(%x: tensor<4xf32>) -> tensor<1xf32> {
  %a = heddle.read @a : tensor<4xf32>
  %b = heddle.read @b : tensor<4xf32>
  %zero = heddle.fill 0.0 : f32 : tensor<4xf32>
  %0 = arith.divf %a, %b : tensor<4xf32>
  %1 = math.exp %0 : tensor<4xf32>
  %2 = arith.mulf %1, %x : tensor<4xf32>
  %3 = math.tanh %2 : tensor<4xf32>
  %4 = math.sqrt %b : tensor<4xf32>
  %5 = math.rsqrt %a : tensor<4xf32>
  %6 = arith.subf %4, %5 : tensor<4xf32>
  %7 = math.log %a : tensor<4xf32>
  %8 = arith.negf %7 : tensor<4xf32>
  %9 = arith.maximumf %3, %zero : tensor<4xf32>
  %10 = arith.minimumf %6, %8 : tensor<4xf32>
  %c = arith.cmpf ogt, %a, %b : tensor<4xf32>
  %11 = arith.select %c, %9, %10 : tensor<4xi1>, tensor<4xf32>
  %12 = arith.maximumf %11, %6 : tensor<4xf32>
  %13 = arith.addf %12, %3 : tensor<4xf32>
  %14 = arith.addf %13, %8 : tensor<4xf32>
  %15 = arith.addf %14, %10 : tensor<4xf32>
  %16 = math.erf %b : tensor<4xf32>
  %17 = arith.addf %15, %16 : tensor<4xf32>
  %loss = heddle.sum columns %17 : tensor<4xf32> -> tensor<1xf32>
  heddle.accumulate %loss
  return %loss : tensor<1xf32>
}

// CHECK: matrices: gradient of w agrees
// CHECK: matrices: gradient of t agrees
// CHECK: matrices: gradient of q agrees
func.func @matrices(%x: !target) -> tensor<1xf32> {
  %w = heddle.read @w : tensor<4x6xf32>
  %t = heddle.read @t : tensor<6x4xf32>
  %q = heddle.read @q : tensor<4x4xf32>
  %0 = heddle.matmul %x, %w : !target, tensor<4x6xf32> -> !logits
  %1 = heddle.matmul %0, %t : !logits, tensor<6x4xf32> -> !target
  %2 = heddle.matmul %1, %t {transpose_rhs} : !target, tensor<6x4xf32> -> !logits
  %3 = heddle.matmul %t, %w {transpose_lhs, transpose_rhs} : tensor<6x4xf32>, tensor<4x6xf32> -> tensor<4x4xf32>
  %4 = heddle.matmul %q, %3 {transpose_lhs} : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %5 = heddle.matmul %2, %w {transpose_rhs} : !logits, tensor<4x6xf32> -> !target
  %6 = heddle.matmul %5, %4 : !target, tensor<4x4xf32> -> !target
  %small = heddle.fill 0.001 : f32 : !target
  %7 = arith.mulf %6, %small : !target
  %8 = math.tanh %7 : !target
  %9 = arith.mulf %8, %x : !target
  %r = heddle.sum rows %9 : !target -> tensor<4xf32>
  %loss = heddle.sum columns %r : tensor<4xf32> -> tensor<1xf32>
  heddle.accumulate %loss
  return %loss : tensor<1xf32>
}

// CHECK: broadcasts: gradient of a agrees
// CHECK: broadcasts: gradient of s agrees
func.func @broadcasts(%x: !target) -> tensor<1xf32> {
  %a = heddle.read @a : tensor<4xf32>
  %s = heddle.read @s : tensor<1xf32>
  %rows = heddle.broadcast %a : tensor<4xf32> to !target
  %all = heddle.broadcast %s : tensor<1xf32> to !target
  %0 = arith.mulf %rows, %x : !target
  %1 = arith.addf %0, %all : !target
  %2 = math.tanh %1 : !target
  %3 = heddle.sum columns %2 : !target -> !column
  %c = heddle.broadcast %s : tensor<1xf32> to !column
  %4 = arith.mulf %3, %c : !column
  %columns = heddle.broadcast %4 : !column to !target
  %5 = arith.mulf %columns, %2 : !target
  %6 = heddle.sum columns %5 : !target -> !column
  %loss = heddle.sum rows %6 : !column -> tensor<1xf32>
  heddle.accumulate %loss
  return %loss : tensor<1xf32>
}

// A small model: one table for embedding and logits, layer norm, dropout, smoothed cross entropy.
// CHECK: model: gradient of t agrees
// CHECK: model: gradient of a agrees
// CHECK: model: gradient of b agrees
func.func @model(%i: !indices, %targets: !indices, %seed: tensor<2xi32>, %step: tensor<1xi32>) -> tensor<1xf32> {
  %t = heddle.read @t : tensor<6x4xf32>
  %a = heddle.read @a : tensor<4xf32>
  %b = heddle.read @b : tensor<4xf32>
  %e = heddle.embedding %i, %t : !indices, tensor<6x4xf32> -> !target
  %d = heddle.dropout %e seed %seed step %step {rate = 0.3 : f32, stream = 1 : i32} : !target
  %n, %mean, %rstd = heddle.layer_norm %d, %a, %b {epsilon = 1.0e-6 : f32} : !target, tensor<4xf32>, tensor<4xf32> -> !column
  %logits = heddle.matmul %n, %t {transpose_rhs} : !target, tensor<6x4xf32> -> !logits
  %losses, %lse = heddle.cross_entropy %logits, %targets {smoothing = 0.1 : f32} : !logits, !indices -> !column
  %loss = heddle.sum rows %losses : !column -> tensor<1xf32>
  heddle.accumulate %loss
  return %loss : tensor<1xf32>
}

// A computed table, which two embeddings use.
// CHECK: computed_table: gradient of t agrees
func.func @computed_table(%i: !indices, %j: !indices) -> tensor<1xf32> {
  %t = heddle.read @t : tensor<6x4xf32>
  %table = math.tanh %t : tensor<6x4xf32>
  %a = heddle.embedding %i, %table : !indices, tensor<6x4xf32> -> !target
  %b = heddle.embedding %j, %table : !indices, tensor<6x4xf32> -> !target
  %c = arith.mulf %a, %b : !target
  %d = math.exp %a : !target
  %e = arith.addf %c, %d : !target
  %columns = heddle.sum columns %e : !target -> !column
  %loss = heddle.sum rows %columns : !column -> tensor<1xf32>
  heddle.accumulate %loss
  return %loss : tensor<1xf32>
}

// Two projections of one input, one of which is used twice; and two projections, one of which is not used.
// CHECK: projections: gradient of k agrees
// CHECK: projections: gradient of p agrees
// CHECK: projections: gradient of c agrees
heddle.variable @p weight : tensor<8x4xf32>
heddle.variable @grad.p gradient of @p as gradient : tensor<8x4xf32>
heddle.variable @c weight : tensor<8xf32>
heddle.variable @grad.c gradient of @c as gradient : tensor<8xf32>
func.func @projections(%x: !target) -> tensor<1xf32> {
  %k = heddle.read @k : tensor<4x4xf32>
  %p = heddle.read @p : tensor<8x4xf32>
  %c = heddle.read @c : tensor<8xf32>
  %h = heddle.matmul %x, %k : !target, tensor<4x4xf32> -> !target
  %a:2 = heddle.project %h, %p, %c : !target, tensor<8x4xf32>, tensor<8xf32> -> !target, !target
  %b:2 = heddle.project %a#1, %p, %c : !target, tensor<8x4xf32>, tensor<8xf32> -> !target, !target
  %0 = arith.mulf %a#0, %a#1 : !target
  %1 = math.tanh %b#0 : !target
  %2 = arith.addf %0, %1 : !target
  %r = heddle.sum rows %2 : !target -> tensor<4xf32>
  %loss = heddle.sum columns %r : tensor<4xf32> -> tensor<1xf32>
  heddle.accumulate %loss
  return %loss : tensor<1xf32>
}

// Causal attention from target to source, with dropout on the probabilities.
// CHECK: attention: gradient of q agrees
// CHECK: attention: gradient of k agrees
func.func @attention(%x: !target {heddle.name = "x"}, %memory: !source {heddle.name = "memory"},
                     %qs: !segments {heddle.name = "target_starts"},
                     %ql: !segments {heddle.name = "target_lengths"}, %ks: !segments {heddle.name = "source_starts"},
                     %kl: !segments {heddle.name = "source_lengths"}, %seed: tensor<2xi32>, %step: tensor<1xi32>) -> tensor<1xf32> {
  %wq = heddle.read @q : tensor<4x4xf32>
  %wk = heddle.read @k : tensor<4x4xf32>
  %q = heddle.matmul %x, %wq : !target, tensor<4x4xf32> -> !target
  %k = heddle.matmul %memory, %wk : !source, tensor<4x4xf32> -> !source
  %v = math.tanh %k : !source
  %o, %lse = heddle.attention %q, %k, %v queries(%qs, %ql) keys(%ks, %kl) dropout(%seed, %step) mask {
  ^bb0(%i: i32, %j: i32):
    %counts = arith.cmpi sge, %i, %j : i32
    heddle.yield %counts : i1
  } {heads = 2 : i64, scale = 0.7 : f32, dropout = 0.3 : f32, stream = 3 : i32, query_size = "target_length",
     key_size = "source_length"}
    : (!target, !source, !source, !segments, !segments, !segments, !segments, tensor<2xi32>, tensor<1xi32>)
    -> (!target, tensor<?x2xf32, #heddle.dims<"target_tokens">>)
  %p = arith.mulf %o, %x : !target
  %r = heddle.sum rows %p : !target -> tensor<4xf32>
  %loss = heddle.sum columns %r : tensor<4xf32> -> tensor<1xf32>
  heddle.accumulate %loss
  return %loss : tensor<1xf32>
}

// The same with its scores in memory.
!scores = tensor<?x2x8xf32, #heddle.dims<"target_tokens">>
// CHECK: unfused: gradient of q agrees
// CHECK: unfused: gradient of k agrees
func.func @unfused(%x: !target {heddle.name = "x"}, %memory: !source {heddle.name = "memory"},
                   %qs: !segments {heddle.name = "target_starts"},
                   %ql: !segments {heddle.name = "target_lengths"}, %ks: !segments {heddle.name = "source_starts"},
                   %kl: !segments {heddle.name = "source_lengths"}, %seed: tensor<2xi32>, %step: tensor<1xi32>) -> tensor<1xf32> {
  %wq = heddle.read @q : tensor<4x4xf32>
  %wk = heddle.read @k : tensor<4x4xf32>
  %q = heddle.matmul %x, %wq : !target, tensor<4x4xf32> -> !target
  %k = heddle.matmul %memory, %wk : !source, tensor<4x4xf32> -> !source
  %v = math.tanh %k : !source
  %product = heddle.scores %q, %k queries(%qs, %ql) keys(%ks, %kl) {query_size = "target_length", key_size = "source_length"}
    : (!target, !source, !segments, !segments, !segments, !segments) -> !scores
  %soft = math.tanh %product : !scores
  %position, %sequence = heddle.locate rows(%qs, %ql) {row_size = "target_length"} : !segments -> !indices
  %masked = heddle.mask %soft at(%position, %sequence) keys(%kl) mask {
  ^bb0(%i: i32, %j: i32):
    %counts = arith.cmpi sge, %i, %j : i32
    heddle.yield %counts : i1
  } {value = 0xFF800000 : f32} : !scores, !indices, !segments
  %weights = heddle.softmax %masked : !scores
  %kept = heddle.dropout %weights seed %seed step %step {rate = 0.3 : f32, stream = 3 : i32} : !scores
  %o = heddle.context %kept, %v queries(%qs, %ql) keys(%ks, %kl) {query_size = "target_length", key_size = "source_length"}
    : (!scores, !source, !segments, !segments, !segments, !segments) -> !target
  %p = arith.mulf %o, %x : !target
  %r = heddle.sum rows %p : !target -> tensor<4xf32>
  %loss = heddle.sum columns %r : tensor<4xf32> -> tensor<1xf32>
  heddle.accumulate %loss
  return %loss : tensor<1xf32>
}
// The sums that each key gets from all queries.
// CHECK: received: gradient of q agrees
// CHECK: received: gradient of k agrees
func.func @received(%x: !target {heddle.name = "x"}, %memory: !source {heddle.name = "memory"},
                    %qs: !segments {heddle.name = "target_starts"},
                    %ql: !segments {heddle.name = "target_lengths"}, %ks: !segments {heddle.name = "source_starts"},
                    %kl: !segments {heddle.name = "source_lengths"}) -> tensor<1xf32> {
  %wq = heddle.read @q : tensor<4x4xf32>
  %wk = heddle.read @k : tensor<4x4xf32>
  %q = heddle.matmul %x, %wq : !target, tensor<4x4xf32> -> !target
  %k = heddle.matmul %memory, %wk : !source, tensor<4x4xf32> -> !source
  %product = heddle.scores %q, %k queries(%qs, %ql) keys(%ks, %kl) {query_size = "target_length", key_size = "source_length"}
    : (!target, !source, !segments, !segments, !segments, !segments) -> !scores
  %soft = math.tanh %product : !scores
  %y = heddle.transposed_context %soft, %q queries(%qs, %ql) keys(%ks, %kl) {query_size = "target_length", key_size = "source_length"}
    : (!scores, !target, !segments, !segments, !segments, !segments) -> !source
  %p = arith.mulf %y, %memory : !source
  %r = heddle.sum rows %p : !source -> tensor<4xf32>
  %loss = heddle.sum columns %r : tensor<4xf32> -> tensor<1xf32>
  heddle.accumulate %loss
  return %loss : tensor<1xf32>
}
// The same with a soft cap of the scores, and a bias that depends on distance and head.
// CHECK: score: gradient of q agrees
// CHECK: score: gradient of k agrees
func.func @score(%x: !target {heddle.name = "x"}, %memory: !source {heddle.name = "memory"},
                     %qs: !segments {heddle.name = "target_starts"},
                     %ql: !segments {heddle.name = "target_lengths"}, %ks: !segments {heddle.name = "source_starts"},
                     %kl: !segments {heddle.name = "source_lengths"}, %seed: tensor<2xi32>, %step: tensor<1xi32>) -> tensor<1xf32> {
  %wq = heddle.read @q : tensor<4x4xf32>
  %wk = heddle.read @k : tensor<4x4xf32>
  %q = heddle.matmul %x, %wq : !target, tensor<4x4xf32> -> !target
  %k = heddle.matmul %memory, %wk : !source, tensor<4x4xf32> -> !source
  %v = math.tanh %k : !source
  %o, %lse = heddle.attention %q, %k, %v queries(%qs, %ql) keys(%ks, %kl) dropout(%seed, %step) score {
  ^bb0(%score: f32, %i: i32, %j: i32, %head: i32):
    %cap = arith.constant 0.7 : f32
    %part = arith.divf %score, %cap : f32
    %soft = math.tanh %part : f32
    %capped = arith.mulf %soft, %cap : f32
    %distance = arith.subi %i, %j : i32
    %steps = arith.muli %distance, %head : i32
    %far = arith.sitofp %steps : i32 to f32
    %biased = arith.subf %capped, %far : f32
    %bent = arith.mulf %biased, %score : f32
    heddle.yield %bent : f32
  } mask {
  ^bb0(%i: i32, %j: i32):
    %counts = arith.cmpi sge, %i, %j : i32
    heddle.yield %counts : i1
  } {heads = 2 : i64, scale = 0.7 : f32, dropout = 0.3 : f32, stream = 3 : i32, query_size = "target_length",
     key_size = "source_length"}
    : (!target, !source, !source, !segments, !segments, !segments, !segments, tensor<2xi32>, tensor<1xi32>)
    -> (!target, tensor<?x2xf32, #heddle.dims<"target_tokens">>)
  %p = arith.mulf %o, %x : !target
  %r = heddle.sum rows %p : !target -> tensor<4xf32>
  %loss = heddle.sum columns %r : tensor<4xf32> -> tensor<1xf32>
  heddle.accumulate %loss
  return %loss : tensor<1xf32>
}
// CHECK-NOT: is off

// Sums of segments, and their largest and smallest elements. One row has each of these elements.
// CHECK: pooling: gradient of t agrees
// CHECK: pooling: gradient of q agrees
// CHECK: pooling: gradient of k agrees
func.func @pooling(%x: !target {heddle.name = "x"}, %starts: !segments {heddle.name = "target_starts"},
                   %lengths: !segments {heddle.name = "target_lengths"}, %i: !indices {heddle.name = "i"}) -> tensor<1xf32> {
  %k = heddle.read @k : tensor<4x4xf32>
  %q = heddle.read @q : tensor<4x4xf32>
  %t = heddle.read @t : tensor<6x4xf32>
  %0 = heddle.matmul %x, %k : !target, tensor<4x4xf32> -> !target
  %1 = heddle.matmul %x, %q : !target, tensor<4x4xf32> -> !target
  %2 = heddle.embedding %i, %t : !indices, tensor<6x4xf32> -> !target
  %3 = arith.mulf %2, %x : !target
  %4 = heddle.segment sum %3 segments(%starts, %lengths) {row_size = "target_length"} : !target, !segments -> !pooled
  %5, %first = heddle.segment max %0 segments(%starts, %lengths) {row_size = "target_length"} : !target, !segments -> !pooled, !chosen
  %6, %other = heddle.segment min %1 segments(%starts, %lengths) {row_size = "target_length"} : !target, !segments -> !pooled, !chosen
  %7 = arith.mulf %4, %5 : !pooled
  %8 = arith.mulf %7, %6 : !pooled
  %9 = heddle.sum rows %8 : !pooled -> tensor<4xf32>
  %loss = heddle.sum columns %9 : tensor<4xf32> -> tensor<1xf32>
  heddle.accumulate %loss
  return %loss : tensor<1xf32>
}
