// Attention to parts of the keys has a workgroup for each head and part. The merge has one for each head, and reads the
// parts that have keys.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=vulkan:software})' | FileCheck %s
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=cpu:x86-64-v3})' | FileCheck %s
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=cuda:sm_80})' | FileCheck %s

!q = tensor<?x576xf32, #heddle.dims<"sequences">>
!p = tensor<?x2304xf32, #heddle.dims<"sequences">>
!l = tensor<?x36xf32, #heddle.dims<"sequences">>
!k = tensor<1024x192xf32>
!s = tensor<?xi32, #heddle.dims<"sequences">>
heddle.size @sequences max 8
heddle.size @length max 512 longest "lengths"

// CHECK-LABEL: func.func @step(
// CHECK: tile.launch @attention_Tx2304({{.*}}) grid [#tile.grid<"", 1, 1>, #tile.grid<"", 1, 3>, #tile.grid<"sequences", 1, 4>]
// CHECK: tile.launch @merge_parts_Tx576({{.*}}) grid [#tile.grid<"sequences", 1, 1>, #tile.grid<"", 1, 9>
func.func @step(%q: !q, %k: !k, %v: !k, %qs: !s, %ql: !s, %ks: !s, %kl: !s {heddle.name = "lengths"}) -> !q {
  %p, %lse = heddle.attention %q, %k, %v queries(%qs, %ql) keys(%ks, %kl)
      {heads = 9 : i64, key_size = "length", part_keys = 128 : i64, query_size = "", scale = 1.25e-01 : f32}
      : (!q, !k, !k, !s, !s, !s, !s) -> (!p, !l)
  %y = heddle.merge_parts %p, %lse queries(%qs, %ql) keys(%kl) {heads = 9 : i64, part_keys = 128 : i64}
      : (!p, !l, !s, !s, !s) -> !q
  return %y : !q
}

// CHECK-LABEL: tile.func @attention_Tx2304(
// CHECK: %[[PART:.*]] = arith.remui %{{.*}}, %c4
// CHECK: arith.divui %{{.*}}, %c4
// CHECK: %[[FIRST:.*]] = arith.muli %[[PART]], %c128
// CHECK: %[[MORE:.*]] = arith.cmpi slt, %[[FIRST]], %[[LENGTH:.*]] : index
// CHECK: %[[LEFT:.*]] = arith.subi %[[LENGTH]], %[[FIRST]]
// CHECK: arith.minsi %[[LEFT]], %c128
// CHECK: %[[AT:.*]] = arith.muli %[[PART]], %c576
// CHECK: arith.muli %[[PART]], %c9

// CHECK-LABEL: tile.func @merge_parts_Tx576(
// CHECK: arith.addi %{{.*}}, %c127
// CHECK: %[[KEYS:.*]] = arith.divui %{{.*}}, %c128
// CHECK: %[[COUNT:.*]] = arith.maxui %[[KEYS]], %c1
// CHECK: scf.for %[[I:.*]] = %c0 to %[[COUNT]] step %c1 iter_args(
// CHECK: tile.load %arg1
// CHECK: tile.load %arg0
// CHECK: math.fma
