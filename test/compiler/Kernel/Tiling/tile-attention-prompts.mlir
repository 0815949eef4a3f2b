// Tokens of prompts: each is alone in its sequence, and its neighbours see nearly the same keys. A workgroup owns several
// of them, and visits the keys of a run of them at once.
// RUN: heddle-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=cpu:x86-64-v3})' | FileCheck %s --check-prefixes=CHECK,THREAD
// RUN: heddle-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=cuda:sm_80})' | FileCheck %s --check-prefixes=CHECK,BLOCKS

!q = tensor<?x192xf32, #heddle.dims<"tokens">>
!l = tensor<?x3xf32, #heddle.dims<"tokens">>
!k = tensor<128x64xf32>
!s = tensor<?xi32, #heddle.dims<"tokens">>
heddle.size @tokens max 100
heddle.size @length max 128 longest "lengths"

// THREAD: tile.launch @attention_Tx192({{.*}}) grid [#tile.grid<"tokens", 32, 1>, #tile.grid<"", 1, 1>, #tile.grid<"", 1, 1>]
// BLOCKS: tile.launch @attention_Tx192({{.*}}) grid [#tile.grid<"tokens", 10, 1>, #tile.grid<"", 1, 1>, #tile.grid<"", 1, 1>]
func.func @together(%q: !q, %k: !k, %v: !k, %ql: !s, %ks: !s, %kl: !s {heddle.name = "lengths"}) -> !q {
  %qs = heddle.iota {dim = 0 : i64} : !s
  %y, %lse = heddle.attention %q, %k, %v queries(%qs, %ql) keys(%ks, %kl)
      {heads = 3 : i64, key_size = "length", query_size = "", scale = 1.25e-01 : f32} : (!q, !k, !k, !s, !s, !s, !s) -> (!q, !l)
  return %y : !q
}

// CHECK-LABEL: tile.func @attention_Tx192(
// CHECK-SAME: %[[Q:.*]]: memref<?x192xf32>, %[[K:.*]]: memref<128x64xf32>, %[[V:.*]]: memref<128x64xf32>, %{{.*}}: memref<?x1xi32>, %[[STARTS:.*]]: memref<?x1xi32>, %[[LENGTHS:.*]]: memref<?x1xi32>
// The tokens of the workgroup. A run begins at the first of them, and where a token shares no key with the one before.
// CHECK: scf.for %[[TOKEN:.*]] = %[[BEGIN:.*]] to %[[END:.*]] step
// CHECK: arith.cmpi eq, %[[TOKEN]], %[[BEGIN]]
// CHECK: scf.if
// BLOCKS-NEXT: tile.wait
// The run's end, and its keys.
// CHECK: scf.for {{.*}} to %[[END]] step %{{.*}} iter_args({{.*}}) -> (i1, index, index, index) {
// CHECK: arith.minsi
// CHECK: arith.maxsi
// Each token counts its own keys.
// CHECK: tile.gather %[[STARTS]][
// CHECK: tile.gather %[[LENGTHS]][
// CHECK: scf.for
// CHECK: arith.cmpi ult, {{.*}}i32>

// -----

// Without an order of the queries, or with few of them, each has a workgroup.
!q = tensor<?x192xf32, #heddle.dims<"tokens">>
!l = tensor<?x3xf32, #heddle.dims<"tokens">>
!k = tensor<128x64xf32>
!s = tensor<?xi32, #heddle.dims<"tokens">>
heddle.size @tokens max 100
heddle.size @length max 128 longest "lengths"

// CHECK: tile.launch @attention_Tx192({{.*}}) grid [#tile.grid<"", 1, 1>, #tile.grid<"", 1, {{.*}}>, #tile.grid<"tokens", 1, 1>]
func.func @apart(%q: !q, %k: !k, %v: !k, %qs: !s, %ql: !s, %ks: !s, %kl: !s {heddle.name = "lengths"}) -> !q {
  %y, %lse = heddle.attention %q, %k, %v queries(%qs, %ql) keys(%ks, %kl)
      {heads = 3 : i64, key_size = "length", query_size = "", scale = 1.25e-01 : f32} : (!q, !k, !k, !s, !s, !s, !s) -> (!q, !l)
  return %y : !q
}

// -----

!q = tensor<?x192xf32, #heddle.dims<"tokens">>
!l = tensor<?x3xf32, #heddle.dims<"tokens">>
!k = tensor<128x64xf32>
!s = tensor<?xi32, #heddle.dims<"tokens">>
heddle.size @tokens max 64
heddle.size @length max 128 longest "lengths"

// CHECK: tile.launch @attention_Tx192({{.*}}) grid [#tile.grid<"", 1, 1>, #tile.grid<"", 1, {{.*}}>, #tile.grid<"tokens", 1, 1>]
func.func @few(%q: !q, %k: !k, %v: !k, %ql: !s, %ks: !s, %kl: !s {heddle.name = "lengths"}) -> !q {
  %qs = heddle.iota {dim = 0 : i64} : !s
  %y, %lse = heddle.attention %q, %k, %v queries(%qs, %ql) keys(%ks, %kl)
      {heads = 3 : i64, key_size = "length", query_size = "", scale = 1.25e-01 : f32} : (!q, !k, !k, !s, !s, !s, !s) -> (!q, !l)
  return %y : !q
}
