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
// place.
// THREAD-LABEL: tile.func @attention_Tx576(
// THREAD: %[[KEYS:.*]] = tile.shared : memref<64x16xf32
// THREAD: tile.load %arg0{{.*}} {any_padding, apart = 64 : i64, members = 3 : i64} : memref<?x576xf32> -> tensor<3x16xf32>
// The loop over keys.
// THREAD: scf.for %{{.*}} step %c16 iter_args(
// THREAD: %[[TURNED:.*]] = tile.load %arg1{{.*}} {any_padding, transposed}
// THREAD: tile.store %[[TURNED]], %[[KEYS]]
// THREAD: %[[KEY:.*]] = tile.load %[[KEYS]]
// THREAD: tile.dot %{{.*}}, %[[KEY]], %{{.*}} -> tensor<3x16xf32>
// THREAD: %[[VALUE:.*]] = tile.load %arg2{{.*}} -> tensor<8x16xf32>
// THREAD-NEXT: tile.dot %{{.*}}, %[[VALUE]], %{{.*}} -> tensor<3x16xf32>
