// A sink is one more score of each head. A workgroup adds it to its softmax after the loop over keys.
// RUN: heddle-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile)' | FileCheck %s

!x = tensor<?x64xf32, #heddle.dims<"tokens">>
!k = tensor<?x32xf32, #heddle.dims<"tokens">>
!heads = tensor<?x4xf32, #heddle.dims<"tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
heddle.size @tokens max 2048
heddle.size @sequences max 64
heddle.size @length max 256 longest "lengths"

// CHECK-LABEL: tile.func @attention_Tx64(
// CHECK-SAME: %[[SINKS:[a-z0-9]+]]: memref<1x4xf32>
// CHECK: %[[HEAD:.*]] = gpu.block_id y
// CHECK: %[[R:.*]]:3 = scf.for
// CHECK: }
// CHECK: %[[SINK:.*]] = memref.load %[[SINKS]][%{{.*}}, %[[HEAD]]]
// CHECK: tile.splat %[[SINK]] : f32 -> tensor<32x1xf32>
// CHECK: %[[LARGEST:.*]] = arith.maximumf %[[R]]#0,
// CHECK: %[[RESCALE:.*]] = math.exp2
// CHECK: %[[SUM:.*]] = math.fma %[[R]]#1, %[[RESCALE]],
// CHECK: arith.divf %[[RESCALE]],
// CHECK: tile.store
// CHECK: math.log
func.func @sink(%x: !x, %sink: tensor<4xf32>, %s: !segments, %l: !segments) -> (!x, !heads) {
  %y, %lse = heddle.attention %x, %x, %x sink(%sink) queries(%s, %l) keys(%s, %l)
    {heads = 4 : i64, scale = 0.25 : f32, query_size = "length", key_size = "length"}
    : (!x, !x, !x, tensor<4xf32>, !segments, !segments, !segments, !segments) -> (!x, !heads)
  return %y, %lse : !x, !heads
}

// -----

!x = tensor<?x64xf32, #heddle.dims<"tokens">>
!k = tensor<?x32xf32, #heddle.dims<"tokens">>
!heads = tensor<?x4xf32, #heddle.dims<"tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
heddle.size @tokens max 2048
heddle.size @sequences max 64
heddle.size @length max 256 longest "lengths"

// If two heads share a workgroup's keys, the rows of each head get the head's own sink.
// CHECK-LABEL: tile.func @attention_Tx64(
// CHECK-SAME: %[[SINKS:[a-z0-9]+]]: memref<1x4xf32>
// CHECK: scf.for
// CHECK: %[[FIRST:.*]] = memref.load %[[SINKS]]
// CHECK: %[[OF_FIRST:.*]] = tile.splat %[[FIRST]] : f32 -> tensor<32x1xf32>
// CHECK: arith.remui %{{.*}} : tensor<32x1xi32>
// CHECK: %[[IS_SECOND:.*]] = arith.cmpi eq,
// CHECK: %[[SECOND:.*]] = memref.load %[[SINKS]]
// CHECK: %[[OF_SECOND:.*]] = tile.splat %[[SECOND]] : f32 -> tensor<32x1xf32>
// CHECK: arith.select %[[IS_SECOND]], %[[OF_SECOND]], %[[OF_FIRST]]
func.func @group(%x: !x, %k: !k, %sink: tensor<4xf32>, %s: !segments, %l: !segments) -> (!x, !heads) {
  %y, %lse = heddle.attention %x, %k, %k sink(%sink) queries(%s, %l) keys(%s, %l)
    {heads = 4 : i64, scale = 0.25 : f32, query_size = "length", key_size = "length"}
    : (!x, !k, !k, tensor<4xf32>, !segments, !segments, !segments, !segments) -> (!x, !heads)
  return %y, %lse : !x, !heads
}

// -----

!scores = tensor<?x4x64xf32, #heddle.dims<"tokens">>
heddle.size @tokens max 2048

// Scores in memory.
// CHECK-LABEL: tile.func @softmax_
// CHECK-SAME: %[[SINKS:[a-z0-9]+]]: memref<1x4xf32>
// CHECK: %[[HEAD:.*]] = gpu.block_id y
// CHECK: memref.load %[[SINKS]][%{{.*}}, %[[HEAD]]]
// CHECK: arith.maximumf
// CHECK: arith.divf
func.func @softmax(%x: !scores, %sink: tensor<4xf32>) -> !scores {
  %y = heddle.softmax %x sink(%sink : tensor<4xf32>) : !scores
  return %y : !scores
}
