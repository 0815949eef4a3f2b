// A score region in the three kernels of attention. Keys that a causal mask with a window excludes are neither visited
// nor counted, whatever the region yields.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-count-costs,heddle-tile)' | FileCheck %s
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-set-precision{precision=bf16},heddle-fuse-kernels),heddle-count-costs,heddle-tile{target=cuda:sm_80})' | FileCheck %s --check-prefix=CORES

!x = tensor<?x64xf32, #heddle.dims<"tokens">>
!heads = tensor<?x4xf32, #heddle.dims<"tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
heddle.size @tokens max 2048
heddle.size @sequences max 64
heddle.size @length max 256 longest "lengths"

// CHECK-LABEL: func.func @score(
// CHECK: tile.launch @attention_Tx64{{.*}}<flops[<256 pairs<"lengths", "lengths" below 64 above 0 max 133120>>]
// CHECK: tile.launch @attention_grad_query_Tx64{{.*}}<flops[<256 pairs<"lengths", "lengths" below 64 above 0 max 133120>>]
// CHECK: tile.launch @attention_grad_key_value_Tx64{{.*}}<flops[<384 pairs<"lengths", "lengths" below 64 above 0 max 133120>>]

// The region gets scores in their own unit. They are converted to units of log(2) after it. Visited are the keys from
// 64 before the tile's first query to its last query, which is 31 after the first.
// CHECK-LABEL: tile.func @attention_Tx64
// CHECK: %[[HEAD:.*]] = gpu.block_id y
// CHECK: %[[FIRST:.*]] = arith.muli %{{.*}}, %c32
// CHECK: arith.constant dense<2.500000e-01> : tensor<32x16xf32>
// CHECK: %[[LOW:.*]] = arith.addi %[[FIRST]], %c-64
// CHECK: %[[BEGIN:.*]] = arith.maxsi %[[LOW]], %c0
// CHECK: %[[PAST:.*]] = arith.addi %[[FIRST]], %c32
// CHECK: %[[END:.*]] = arith.minsi %{{.*}}, %[[PAST]]
// CHECK: %[[OVER:.*]] = arith.remui %[[BEGIN]], %c8
// CHECK: %[[START:.*]] = arith.subi %[[BEGIN]], %[[OVER]]
// CHECK: scf.for %{{.*}} = %[[START]] to %[[END]] step %c8
// CHECK: %[[SCALED:.*]] = tile.dot
// CHECK: %[[NUMBER:.*]] = arith.index_cast %[[HEAD]]
// CHECK: %[[HEADS:.*]] = tile.splat %[[NUMBER]] : i32 -> tensor<32x8xi32>
// CHECK: %[[STEPS:.*]] = arith.muli %{{.*}}, %[[HEADS]]
// CHECK: %[[BIAS:.*]] = arith.sitofp %[[STEPS]]
// CHECK: %[[SOFT:.*]] = math.tanh %[[SCALED]]
// CHECK: %[[BIASED:.*]] = arith.subf %[[SOFT]], %[[BIAS]]
// CHECK: %[[SCORES:.*]] = arith.select %{{.*}}, %[[BIASED]],
// CHECK: tile.reduce max %[[SCORES]]
// CHECK: %[[UNIT:.*]] = arith.constant dense<1.44269502> : tensor<32x8xf32>
// CHECK: arith.mulf %[[SCORES]], %[[UNIT]]

// Both regions get the scaled scores. Pairs that do not count have no gradient, even if their slope is infinite.
// CHECK-LABEL: tile.func @attention_grad_query_Tx64
// CHECK: %[[SCALED:.*]] = tile.dot
// CHECK: arith.mulf %[[SCALED]], %[[SCALED]]
// CHECK: %[[P:.*]] = arith.select %[[COUNTS:.*]], %{{.*}}, %[[ZEROS:.*]] : tensor<32x8xi1>
// CHECK: %[[DS:.*]] = arith.mulf %[[P]],
// CHECK: %[[DOUBLE:.*]] = arith.addf %[[SCALED]], %[[SCALED]]
// CHECK: %[[SLOPE:.*]] = arith.mulf %[[DOUBLE]], %[[DS]]
// CHECK: %[[GRADIENT:.*]] = arith.select %[[COUNTS]], %[[SLOPE]], %[[ZEROS]]
// CHECK: tile.dot %[[GRADIENT]],

// The queries that see a tile of 32 keys: from its first key to 64 after its last key.
// CHECK-LABEL: tile.func @attention_grad_key_value_Tx64
// CHECK: %[[FIRST:.*]] = arith.muli %{{.*}}, %c32
// CHECK: %[[PAST:.*]] = arith.addi %[[FIRST]], %c96
// CHECK: %[[END:.*]] = arith.minsi %{{.*}}, %[[PAST]]
// CHECK: %[[BEGIN:.*]] = arith.maxsi %[[FIRST]], %c0
// CHECK: %[[OVER:.*]] = arith.remui %[[BEGIN]], %c8
// CHECK: %[[START:.*]] = arith.subi %[[BEGIN]], %[[OVER]]
// CHECK: scf.for %{{.*}} = %[[START]] to %[[END]] step %c8
// CHECK: %[[SCALED:.*]] = tile.dot
// CHECK: %[[DOUBLE:.*]] = arith.addf %[[SCALED]], %[[SCALED]]
// CHECK: %[[SLOPE:.*]] = arith.mulf %[[DOUBLE]],
// CHECK: %[[GRADIENT:.*]] = arith.select %{{.*}}, %[[SLOPE]],
// CHECK: tile.dot %[[GRADIENT]],

// On tensor cores the scale is applied to the scores, before the region.
// CORES-LABEL: tile.func @attention_grad_query_Tx64
// CORES: %[[PRODUCTS:.*]] = tile.dot {{.*}} : tensor<64x16xbf16>, tensor<64x16xbf16> -> tensor<64x64xf32>
// CORES: arith.constant dense<2.500000e-01> : tensor<64x64xf32>
// CORES: %[[SCALED:.*]] = arith.mulf %[[PRODUCTS]],
// CORES: arith.mulf %[[SCALED]], %[[SCALED]]
// CORES: arith.addf %[[SCALED]], %[[SCALED]]
func.func @score(%x: !x {heddle.name = "x"}, %s: !segments {heddle.name = "starts"}, %l: !segments {heddle.name = "lengths"},
                 %lse: !heads {heddle.name = "lse"}) -> (!x {heddle.name = "a"}, !x {heddle.name = "b"}, !x {heddle.name = "c"}, !x {heddle.name = "d"}) {
  %y, %z = heddle.attention %x, %x, %x queries(%s, %l) keys(%s, %l) score {
  ^bb0(%score: f32, %query: i32, %key: i32, %head: i32):
    %far = arith.subi %query, %key : i32
    %steps = arith.muli %far, %head : i32
    %bias = arith.sitofp %steps : i32 to f32
    %soft = math.tanh %score : f32
    %biased = arith.subf %soft, %bias : f32
    heddle.yield %biased : f32
  } mask {
  ^bb0(%i: i32, %j: i32):
    %far = arith.constant 64 : i32
    %d = arith.subi %i, %j : i32
    %near = arith.cmpi sle, %d, %far : i32
    %past = arith.cmpi sle, %j, %i : i32
    %c = arith.andi %near, %past : i1
    heddle.yield %c : i1
  } {heads = 4 : i64, scale = 0.25 : f32, query_size = "length", key_size = "length"}
    : (!x, !x, !x, !segments, !segments, !segments, !segments) -> (!x, !heads)
  %q = heddle.attention_grad_query %x, %x, %x gradient %x, %lse, %lse queries(%s, %l) keys(%s, %l) score {
  ^bb0(%score: f32, %query: i32, %key: i32, %head: i32):
    %square = arith.mulf %score, %score : f32
    heddle.yield %square : f32
  } score_gradient {
  ^bb0(%score: f32, %query: i32, %key: i32, %head: i32, %gradient: f32):
    %double = arith.addf %score, %score : f32
    %slope = arith.mulf %double, %gradient : f32
    heddle.yield %slope : f32
  } mask {
  ^bb0(%i: i32, %j: i32):
    %far = arith.constant 64 : i32
    %d = arith.subi %i, %j : i32
    %near = arith.cmpi sle, %d, %far : i32
    %past = arith.cmpi sle, %j, %i : i32
    %c = arith.andi %near, %past : i1
    heddle.yield %c : i1
  } {heads = 4 : i64, scale = 0.25 : f32, query_size = "length", key_size = "length"}
    : (!x, !x, !x, !x, !heads, !heads, !segments, !segments, !segments, !segments) -> !x
  %k, %v = heddle.attention_grad_key_value %x, %x, %x gradient %x, %lse, %lse queries(%s, %l) keys(%s, %l) score {
  ^bb0(%score: f32, %query: i32, %key: i32, %head: i32):
    %square = arith.mulf %score, %score : f32
    heddle.yield %square : f32
  } score_gradient {
  ^bb0(%score: f32, %query: i32, %key: i32, %head: i32, %gradient: f32):
    %double = arith.addf %score, %score : f32
    %slope = arith.mulf %double, %gradient : f32
    heddle.yield %slope : f32
  } mask {
  ^bb0(%i: i32, %j: i32):
    %far = arith.constant 64 : i32
    %d = arith.subi %i, %j : i32
    %near = arith.cmpi sle, %d, %far : i32
    %past = arith.cmpi sle, %j, %i : i32
    %c = arith.andi %near, %past : i1
    heddle.yield %c : i1
  } {heads = 4 : i64, scale = 0.25 : f32, query_size = "length", key_size = "length"}
    : (!x, !x, !x, !x, !heads, !heads, !segments, !segments, !segments, !segments) -> (!x, !x)
  return %y, %q, %k, %v : !x, !x, !x, !x
}
