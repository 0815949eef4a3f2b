// One query for each sequence, with nine query heads and three key heads: a workgroup has the three heads of a group,
// and reads their keys and values once.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=vulkan:software})' | FileCheck %s
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=cpu:x86-64-v3})' | FileCheck %s --check-prefix=THREAD

!q = tensor<?x576xf32, #heddle.dims<"sequences">>
!k = tensor<1024x192xf32>
!s = tensor<?xi32, #heddle.dims<"sequences">>
heddle.size @sequences max 8
heddle.size @length max 512 longest "lengths"

// CHECK-LABEL: func.func @step(
// CHECK: tile.launch @attention_Tx576({{.*}}) grid [#tile.grid<"", 1, 1>, #tile.grid<"", 1, 3>, #tile.grid<"sequences", 1, 1>]
func.func @step(%q: !q, %k: !k, %v: !k, %qs: !s, %ql: !s, %ks: !s, %kl: !s {heddle.name = "lengths"}) -> !q {
  %y, %lse = heddle.attention %q, %k, %v queries(%qs, %ql) keys(%ks, %kl)
      {heads = 9 : i64, key_size = "length", query_size = "", scale = 1.25e-01 : f32}
      : (!q, !k, !k, !s, !s, !s, !s) -> (!q, tensor<?x9xf32, #heddle.dims<"sequences">>)
  return %y : !q
}

// CHECK-LABEL: tile.func @attention_Tx576(
// CHECK-SAME: %[[Q:.*]]: memref<?x576xf32>, %[[K:.*]]: memref<1024x192xf32>, %[[V:.*]]: memref<1024x192xf32>, %{{.*}}: memref<?x1xi32>
// CHECK-COUNT-3: tile.load %[[Q]][
// CHECK-NOT: tile.load %[[Q]][
// CHECK: scf.for
// CHECK: tile.load %[[K]][
// CHECK-NOT: tile.load %[[K]][
// CHECK: tile.load %[[V]][
// CHECK-NOT: tile.load
// CHECK: scf.yield %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} :
// CHECK-COUNT-3: tile.store

// On a processor the three heads are rows of one tile of scores. Each step packs its 16 keys and reads its values in
// place. The rows of whole steps need no limits.
// THREAD-LABEL: tile.func @attention_Tx576(
// THREAD: %[[KEYS:.*]] = tile.shared : memref<64x16xf32
// THREAD: tile.load %arg0{{.*}} {any_padding, apart = 64 : i64, members = 3 : i64} : memref<?x576xf32> -> tensor<3x16xf32>
// The loop over keys.
// THREAD: %[[REST:.*]] = arith.remui %{{.*}}, %c16
// THREAD: %[[WHOLE:.*]] = arith.subi %{{.*}}, %[[REST]]
// THREAD: scf.for %{{.*}} = %c0 to %[[WHOLE]] step %c16 iter_args(
// THREAD: %[[TURNED:.*]] = tile.load %arg1[{{[^]]*}}] {any_padding, transposed}
// THREAD: tile.store %[[TURNED]], %[[KEYS]]
// THREAD: %[[SCORES:.*]] = scf.for
// THREAD: %[[KEY:.*]] = tile.load %[[KEYS]]
// THREAD: tile.dot %{{.*}}, %[[KEY]], %{{.*}} -> tensor<3x16xf32>
// THREAD: tile.reduce max %[[SCORES]] dim 1
// THREAD: %[[VALUE:.*]] = tile.load %arg2[{{[^]]*}}] {any_padding} : {{.*}} -> tensor<8x16xf32>
// THREAD-NEXT: tile.dot %{{.*}}, %[[VALUE]], %{{.*}} -> tensor<3x16xf32>
// The last step reads only the keys and values that are left.
// THREAD: scf.for %{{.*}} = %[[WHOLE]] to %{{.*}} step %c16 iter_args(
// THREAD: %[[LEFT:.*]] = arith.minsi %{{.*}}, %c16
// THREAD: scf.for %{{.*}} = %c0 to %[[LEFT]] step %c8 {
// THREAD: tile.load %arg1[{{[^]]*}}] rows(%{{.*}}) {any_padding, transposed}
// THREAD: arith.select
// THREAD: scf.for %{{.*}} = %c0 to %[[LEFT]] step %c1 iter_args(
// THREAD: %[[VALUE:.*]] = tile.load %arg2[{{[^]]*}}] {any_padding} : {{.*}} -> tensor<1x16xf32>
// THREAD-NEXT: tile.dot %{{.*}}, %[[VALUE]], %{{.*}} -> tensor<3x16xf32>

// Two heads of 8 columns have registers for steps of 32 keys. Their weighted values are added up in four parts, because
// a multiply-add waits for the previous one in the same register.
!narrow = tensor<?x16xf32, #heddle.dims<"sequences">>
!cache = tensor<1024x8xf32>
// THREAD-LABEL: tile.func @attention_Tx16(
// THREAD: tile.shared : memref<8x32xf32
// THREAD: scf.for %{{.*}} step %c32 iter_args(
// THREAD: tile.dot {{.*}} -> tensor<2x32xf32>
// THREAD: scf.for %{{.*}} = %c0 to %c8 step %c8 iter_args(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) -> (
// THREAD-COUNT-4: tile.dot {{.*}} : tensor<2x8xf32>, tensor<8x8xf32> -> tensor<2x8xf32>
// THREAD-NOT: tile.dot
// THREAD-COUNT-3: arith.addf
// THREAD: tile.store
func.func @narrow(%q: !narrow, %k: !cache, %v: !cache, %qs: !s, %ql: !s, %ks: !s, %kl: !s {heddle.name = "lengths"}) -> !narrow {
  %y, %lse = heddle.attention %q, %k, %v queries(%qs, %ql) keys(%ks, %kl)
      {heads = 2 : i64, key_size = "length", query_size = "", scale = 1.25e-01 : f32}
      : (!narrow, !cache, !cache, !s, !s, !s, !s) -> (!narrow, tensor<?x2xf32, #heddle.dims<"sequences">>)
  return %y : !narrow
}
