// Attention on tensor cores.
// RUN: heddle-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(heddle-set-precision{precision=bf16},heddle-fuse-kernels),heddle-tile{target=cuda:sm_80})' | FileCheck %s

!x = tensor<?x128xf32, #heddle.dims<"tokens">>
!heads = tensor<?x2xf32, #heddle.dims<"tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
heddle.size @tokens max 4096
heddle.size @sequences max 1
heddle.size @length max 4096 longest "lengths"

// Pairs are checked one by one only in steps that the mask or the sequence's end cuts. The queries are loaded once. The
// scale is fused with the subtraction of the maximum, so it needs no instruction of its own.
// Workgroups of the last queries, which see the most keys, come first, for all heads.
// CHECK-LABEL: func.func @causal(
// CHECK: tile.launch @attention_Tx128({{.*}} grid [#tile.grid<"", 1, 2>, #tile.grid<"length", 128, 1>, #tile.grid<"sequences", 1, 1>]
// CHECK-LABEL: tile.func @attention_Tx128(
// CHECK: %[[BLOCK:.*]] = gpu.block_id y
// CHECK: %[[BEGIN:.*]] = arith.muli %[[BLOCK]], %c128
// CHECK: %[[FIRST:.*]] = arith.subi %{{.*}}, %[[BEGIN]]
// CHECK: arith.cmpi ult, %[[BEGIN]], %{{.*}}
// CHECK: tile.load %{{.*}} : memref<?x128xbf16> -> tensor<128x64xbf16>
// CHECK: scf.for %[[KEY:.*]] = %{{.*}} step %c64
// CHECK:   %[[PRODUCTS:.*]] = tile.dot {{.*}} {transpose_rhs} : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
// CHECK:   %[[END:.*]] = arith.addi %[[KEY]], %c64
// CHECK:   %[[INSIDE:.*]] = arith.cmpi sge, %{{.*}}, %[[END]]
// CHECK:   %[[BACK:.*]] = arith.muli %[[KEY]], %c-1
// CHECK:   %[[DISTANCE:.*]] = arith.addi %{{.*}}, %[[BACK]]
// CHECK:   %[[BELOW:.*]] = arith.cmpi sge, %[[DISTANCE]], %c63
// CHECK:   %[[ALL:.*]] = arith.andi %[[INSIDE]], %[[BELOW]]
// CHECK:   %[[SCORES:.*]] = scf.if %[[ALL]] -> (tensor<128x64xf32>) {
// CHECK-NEXT: scf.yield %[[PRODUCTS]]
// CHECK:   } else {
// CHECK:     arith.cmpi slt, {{.*}} : tensor<1x64xi32>
// CHECK:     arith.cmpi sle, {{.*}} : tensor<128x64xi32>
// CHECK:     %[[CUT:.*]] = arith.select %{{.*}}, %[[PRODUCTS]]
// CHECK-NEXT: scf.yield %[[CUT]]
// CHECK:   tile.reduce max %[[SCORES]]
// CHECK:   %[[SCALED:.*]] = arith.mulf %[[SCORES]]
// CHECK:   %[[EXPONENT:.*]] = arith.subf %[[SCALED]]
// CHECK:   math.exp2 %[[EXPONENT]] fastmath<afn>
// CHECK-NOT: arith.select
// CHECK:   scf.yield
func.func @causal(%x: !x, %s: !segments, %l: !segments) -> (!x, !heads) {
  %y, %lse = heddle.attention %x, %x, %x queries(%s, %l) keys(%s, %l) mask {
  ^bb0(%i: i32, %j: i32):
    %c = arith.cmpi sle, %j, %i : i32
    heddle.yield %c : i1
  } {heads = 2 : i64, scale = 0.25 : f32, query_size = "length", key_size = "length"}
    : (!x, !x, !x, !segments, !segments, !segments, !segments) -> (!x, !heads)
  return %y, %lse : !x, !heads
}

// -----

!x = tensor<?x128xf32, #heddle.dims<"tokens">>
!heads = tensor<?x2xf32, #heddle.dims<"tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
heddle.size @tokens max 4096
heddle.size @sequences max 1
heddle.size @length max 4096 longest "lengths"

// A mask that is no conjunction of linear conditions has no bounds, so every pair is checked.
// CHECK-LABEL: tile.func @attention_Tx128(
// CHECK: scf.for
// CHECK-NOT: scf.if
// CHECK: arith.select %{{.*}} : tensor<128x64xi1>, tensor<128x64xf32>
func.func @parity(%x: !x, %s: !segments, %l: !segments) -> (!x, !heads) {
  %y, %lse = heddle.attention %x, %x, %x queries(%s, %l) keys(%s, %l) mask {
  ^bb0(%i: i32, %j: i32):
    %same = arith.xori %i, %j : i32
    %limit = arith.constant 64 : i32
    %c = arith.cmpi slt, %same, %limit : i32
    heddle.yield %c : i1
  } {heads = 2 : i64, scale = 0.25 : f32, query_size = "length", key_size = "length"}
    : (!x, !x, !x, !segments, !segments, !segments, !segments) -> (!x, !heads)
  return %y, %lse : !x, !heads
}

// -----

!x = tensor<?x256xf32, #heddle.dims<"tokens">>
!heads = tensor<?x2xf32, #heddle.dims<"tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
heddle.size @tokens max 4096
heddle.size @sequences max 1
heddle.size @length max 4096 longest "lengths"

// Heads of 128 columns: scores and results fill a lane's registers, so owned rows are loaded in each step, by
// heddle-stage-operands from shared memory. The gradients of keys and values take twice as many registers, so there are
// fewer rows.
// CHECK-LABEL: tile.func @attention_Tx256(
// CHECK: scf.for {{.*}} step %c32
// CHECK:   tile.load %{{.*}} : memref<?x256xbf16> -> tensor<128x128xbf16>
// CHECK-LABEL: tile.func @attention_grad_query_Tx256(
// CHECK: scf.for {{.*}} step %c32
// CHECK:   tile.load %{{.*}} : memref<?x256xbf16> -> tensor<128x128xbf16>
// CHECK-LABEL: tile.func @attention_grad_key_value_Tx256(
// CHECK: scf.for {{.*}} step %c32
// CHECK:   tile.dot {{.*}} : tensor<64x128xbf16>, tensor<32x128xbf16> -> tensor<64x32xf32>
func.func @wide(%x: !x, %d: !heads, %s: !segments, %l: !segments) -> (!x, !x, !x, !x) {
  %y, %lse = heddle.attention %x, %x, %x queries(%s, %l) keys(%s, %l)
    {heads = 2 : i64, scale = 0.25 : f32, query_size = "length", key_size = "length"}
    : (!x, !x, !x, !segments, !segments, !segments, !segments) -> (!x, !heads)
  %q = heddle.attention_grad_query %x, %x, %x gradient %x, %lse, %d queries(%s, %l) keys(%s, %l)
    {heads = 2 : i64, scale = 0.25 : f32, query_size = "length", key_size = "length"}
    : (!x, !x, !x, !x, !heads, !heads, !segments, !segments, !segments, !segments) -> !x
  %k, %v = heddle.attention_grad_key_value %x, %x, %x gradient %x, %lse, %d queries(%s, %l) keys(%s, %l)
    {heads = 2 : i64, scale = 0.25 : f32, query_size = "length", key_size = "length"}
    : (!x, !x, !x, !x, !heads, !heads, !segments, !segments, !segments, !segments) -> (!x, !x)
  return %y, %q, %k, %v : !x, !x, !x, !x
}
