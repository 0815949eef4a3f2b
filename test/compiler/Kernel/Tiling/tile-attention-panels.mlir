// Attention in a thread: the rows that 16 tiles of six rows visit are packed ahead of the loop over the tiles. Keys are
// transposed, values are not. Scores are a register tile. The scaled queries, the weights and the sums are in scratch
// memory.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=cpu:x86-64-v3})' | FileCheck %s
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=cpu:x86-64-v4})' | FileCheck %s --check-prefix=WIDE
// WIDE-LABEL: tile.func @attention_Tx128(
// With vectors of 16 floats keys are packed in squares. Scores are still computed from 8 columns of a head at a time.
// WIDE: tile.load %arg1{{.*}}transposed} : {{.*}} -> tensor<16x32xf32>
// WIDE: scf.for %{{.*}} = %c0 to %c64 step %c8 iter_args(
// WIDE: tile.dot {{.*}} : tensor<14x8xf32>, tensor<8x32xf32>

!x = tensor<?x128xf32, #heddle.dims<"tokens">>
!one = tensor<?x64xf32, #heddle.dims<"tokens">>
!odd = tensor<?x22xf32, #heddle.dims<"tokens">>
!heads = tensor<?x2xf32, #heddle.dims<"tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
heddle.size @tokens max 2048
heddle.size @sequences max 64
heddle.size @length max 256 longest "lengths"

// CHECK: tile.launch @attention_Tx128({{.*}} grid [#tile.grid<"length", 96, 1>, #tile.grid<"", 1, 2>, #tile.grid<"sequences", 1, 1>]
// CHECK: tile.launch @attention_grad_key_value_Tx64({{.*}} grid [#tile.grid<"length", 96, 1>, #tile.grid<"", 1, 1>,
// Vectors do not divide heads of 11 columns, so their rows are not packed.
// CHECK: tile.launch @attention_Tx22({{.*}} grid [#tile.grid<"length", 4, 1>,

// CHECK-LABEL: tile.func @attention_Tx128(
// CHECK: %[[WEIGHTS:.*]] = tile.shared : memref<6x16xf32
// CHECK: %[[VALUES:.*]] = tile.shared : memref<272x64xf32
// CHECK: %[[KEYS:.*]] = tile.shared : memref<1088x16xf32
// CHECK: %[[SUMS:.*]] = tile.shared : memref<6x64xf32
// CHECK: %[[QUERY:.*]] = tile.shared : memref<6x64xf32
// CHECK: scf.if
// CHECK: %[[K:.*]] = tile.load %arg1{{.*}}transposed} : {{.*}} -> tensor<8x16xf32>
// CHECK: tile.store %[[K]], %[[KEYS]][
// CHECK: %[[V:.*]] = tile.load %arg2{{.*}} -> tensor<16x8xf32>
// CHECK: tile.store %[[V]], %[[VALUES]][
// The loop over tiles.
// CHECK: scf.for %{{.*}} step %c6 {
// CHECK: tile.store %{{.*}}, %[[QUERY]][
// CHECK: tile.store %{{.*}}, %[[SUMS]][
// The loop over keys.
// CHECK: scf.for %{{.*}} step %c16 iter_args(
// CHECK: scf.for %{{.*}} = %c0 to %c64 step %c8 iter_args(
// CHECK: %[[LEFT:.*]] = tile.load %[[QUERY]]{{.*}} -> tensor<6x8xf32>
// CHECK: %[[RIGHT:.*]] = tile.load %[[KEYS]]{{.*}} -> tensor<8x16xf32>
// CHECK: tile.dot %[[LEFT]], %[[RIGHT]]
// Sums are rescaled only if a score exceeds its row's reference by much, and only in such rows.
// CHECK: %[[LARGEST:.*]] = tile.reduce max %{{.*}} dim 1
// CHECK: %[[DIFFERENCE:.*]] = arith.subf %{{.*}}, %[[LARGEST]]
// CHECK: %[[MUCH:.*]] = arith.cmpf ult, %[[DIFFERENCE]], %cst
// CHECK: %[[NUMBER:.*]] = arith.select %[[MUCH]]
// CHECK: tile.reduce max %[[NUMBER]] dim 0
// CHECK: %[[ANY:.*]] = arith.cmpf ogt
// CHECK: %[[STATE:.*]]:2 = scf.if %[[ANY]]
// CHECK: %[[REFERENCE:.*]] = arith.select %[[MUCH]], %[[LARGEST]]
// Sums that are zero, as in the first step, are not scaled.
// CHECK: arith.cmpf ogt
// CHECK: %[[SUMMED:.*]] = scf.if
// CHECK: %[[POWERS:.*]] = math.exp2
// CHECK: %[[FACTORS:.*]] = arith.select %[[MUCH]], %[[POWERS]]
// CHECK: scf.for %{{.*}} = %c0 to %c64 step %c16 {
// CHECK: %[[BEFORE:.*]] = tile.load %[[SUMS]]
// CHECK: %[[SCALED:.*]] = arith.mulf %[[BEFORE]]
// CHECK: tile.store %[[SCALED]], %[[SUMS]]
// CHECK: %[[SUM:.*]] = arith.mulf %{{.*}}, %[[FACTORS]]
// CHECK: scf.yield %[[SUM]]
// CHECK: scf.yield %[[REFERENCE]], %[[SUMMED]]
// CHECK: else
// CHECK: math.exp2
// CHECK: tile.store %{{.*}}, %[[WEIGHTS]][
// CHECK: scf.for %{{.*}} = %c0 to %c64 step %c16 {
// CHECK: %[[BEFORE:.*]] = tile.load %[[SUMS]]{{.*}} -> tensor<6x16xf32>
// CHECK: %[[AFTER:.*]] = scf.for %{{.*}} = %c0 to %c16 step %c8 iter_args(%{{.*}} = %[[BEFORE]])
// CHECK: %[[W:.*]] = tile.load %[[WEIGHTS]]{{.*}} -> tensor<6x8xf32>
// CHECK: %[[V:.*]] = tile.load %[[VALUES]]{{.*}} -> tensor<8x16xf32>
// CHECK: tile.dot %[[W]], %[[V]]
// CHECK: tile.store %[[AFTER]], %[[SUMS]][
// CHECK: %[[ALL:.*]] = tile.load %[[SUMS]]{{.*}} -> tensor<6x64xf32>
func.func @attention(%q: !x, %k: !x, %v: !x, %starts: !segments, %lengths: !segments) -> (!x, !heads) {
  %y, %lse = heddle.attention %q, %k, %v queries(%starts, %lengths) keys(%starts, %lengths) {heads = 2 : i64, scale = 0.125 : f32, query_size = "length", key_size = "length"} : (!x, !x, !x, !segments, !segments, !segments, !segments) -> (!x, !heads)
  return %y, %lse : !x, !heads
}

// Keys that two query heads share visit the queries of both heads. Each panel has the queries of both, one head after
// the other.
// CHECK-LABEL: tile.func @attention_grad_key_value_Tx64(
// CHECK-DAG: tile.shared : memref<2176x16xf32
// CHECK-DAG: tile.shared : memref<544x64xf32
// CHECK: scf.for %[[MEMBER:.*]] = %c0 to %c2 step %c1 {
// CHECK: arith.muli %[[MEMBER]], %c272
func.func @grouped(%q: !x, %k: !one, %v: !one, %g: !x, %lse: !heads, %d: !heads, %starts: !segments, %lengths: !segments) -> (!one, !one) {
  %a, %b = heddle.attention_grad_key_value %q, %k, %v gradient %g, %lse, %d queries(%starts, %lengths) keys(%starts, %lengths) {heads = 2 : i64, scale = 0.125 : f32, query_size = "length", key_size = "length"} : (!x, !one, !one, !x, !heads, !heads, !segments, !segments, !segments, !segments) -> (!one, !one)
  return %a, %b : !one, !one
}

func.func @odd(%q: !odd, %k: !odd, %v: !odd, %starts: !segments, %lengths: !segments) -> (!odd, !heads) {
  %y, %lse = heddle.attention %q, %k, %v queries(%starts, %lengths) keys(%starts, %lengths) {heads = 2 : i64, scale = 0.125 : f32, query_size = "length", key_size = "length"} : (!odd, !odd, !odd, !segments, !segments, !segments, !segments) -> (!odd, !heads)
  return %y, %lse : !odd, !heads
}
