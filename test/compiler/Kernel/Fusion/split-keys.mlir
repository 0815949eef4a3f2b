// RUN: heddle-opt %s --heddle-split-keys | FileCheck %s
// RUN: heddle-opt %s --pass-pipeline='builtin.module(heddle-split-keys,func.func(heddle-fuse-kernels))' | FileCheck %s --check-prefix=KERNELS

!q = tensor<?x64xf32, #heddle.dims<"sequences">>
!per_head = tensor<?x4xf32, #heddle.dims<"sequences">>
!k = tensor<1000x32xf32>
!s = tensor<?xi32, #heddle.dims<"sequences">>
!many = tensor<?x64xf32, #heddle.dims<"tokens">>
!many_per_head = tensor<?x4xf32, #heddle.dims<"tokens">>
!t = tensor<?xi32, #heddle.dims<"tokens">>
heddle.size @sequences max 16
heddle.size @tokens max 600
heddle.size @length max 500
heddle.size @short max 128

// Up to 500 keys are four parts of 128. The result of each part is beside that of the part before.
// CHECK-LABEL: func.func @decode(
// CHECK-SAME: %[[Q:.*]]: tensor<?x64xf32, {{.*}}>, %[[K:.*]]: tensor<1000x32xf32>, %[[V:.*]]: tensor<1000x32xf32>, %[[QS:[a-z0-9]*]]: {{.*}}, %[[QL:[a-z0-9]*]]: {{.*}}, %[[KS:[a-z0-9]*]]: {{.*}}, %[[KL:[a-z0-9]*]]:
// CHECK-NEXT: %[[PARTS:.*]], %[[LSE:.*]] = heddle.attention %[[Q]], %[[K]], %[[V]] queries(%[[QS]], %[[QL]]) keys(%[[KS]], %[[KL]])
// CHECK-SAME: part_keys = 128 : i64
// CHECK-SAME: -> (tensor<?x256xf32, #heddle.dims<"sequences">>, tensor<?x16xf32, #heddle.dims<"sequences">>)
// CHECK-NEXT: %[[Y:.*]] = heddle.merge_parts %[[PARTS]], %[[LSE]] queries(%[[QS]], %[[QL]]) keys(%[[KL]]) {heads = 4 : i64, part_keys = 128 : i64}
// CHECK-NEXT: return %[[Y]]
// KERNELS-LABEL: func.func @decode(
// KERNELS: heddle.kernel "attention"
// KERNELS: heddle.kernel "merge_parts"
func.func @decode(%q: !q, %k: !k, %v: !k, %qs: !s, %ql: !s, %ks: !s, %kl: !s) -> !q {
  %y, %lse = heddle.attention %q, %k, %v queries(%qs, %ql) keys(%ks, %kl)
    {heads = 4 : i64, key_size = "length", query_size = "", scale = 2.5e-01 : f32} : (!q, !k, !k, !s, !s, !s, !s) -> (!q, !per_head)
  return %y : !q
}

// A sink is one more score of all keys, so it counts where parts are merged. A cap on scores knows no index.
// CHECK-LABEL: func.func @sink
// CHECK: %[[PARTS:.*]], %[[LSE:.*]] = heddle.attention
// CHECK-NOT: sink
// CHECK-SAME: score {
// CHECK: part_keys = 128
// CHECK: heddle.merge_parts %[[PARTS]], %[[LSE]] queries({{.*}}) keys({{.*}}) sink(%{{.*}})
func.func @sink(%q: !q, %k: !k, %v: !k, %sink: tensor<4xf32>, %qs: !s, %ql: !s, %ks: !s, %kl: !s) -> !q {
  %y, %lse = heddle.attention %q, %k, %v sink(%sink) queries(%qs, %ql) keys(%ks, %kl) score {
  ^bb0(%score: f32, %query: i32, %key: i32, %head: i32):
    %capped = math.tanh %score : f32
    heddle.yield %capped : f32
  } {heads = 4 : i64, key_size = "length", query_size = "", scale = 2.5e-01 : f32}
    : (!q, !k, !k, tensor<4xf32>, !s, !s, !s, !s) -> (!q, !per_head)
  return %y : !q
}

// Whole: short sequences; scores that depend on a key's index; as many queries as the cache has rows; a log-sum-exp that
// is used.
// CHECK-LABEL: func.func @whole
// CHECK-NOT: part_keys
// CHECK: return
func.func @whole(%q: !q, %many: !many, %k: !k, %v: !k, %qs: !s, %ql: !s, %ks: !s, %kl: !s, %ts: !t, %tl: !t) -> (!q, !q, !many, !per_head) {
  %short, %l0 = heddle.attention %q, %k, %v queries(%qs, %ql) keys(%ks, %kl)
    {heads = 4 : i64, key_size = "short", query_size = "", scale = 2.5e-01 : f32} : (!q, !k, !k, !s, !s, !s, !s) -> (!q, !per_head)
  %window, %l1 = heddle.attention %q, %k, %v queries(%qs, %ql) keys(%ks, %kl) mask {
  ^bb0(%query: i32, %key: i32):
    %most = arith.constant 40 : i32
    %counts = arith.cmpi slt, %key, %most : i32
    heddle.yield %counts : i1
  } {heads = 4 : i64, key_size = "length", query_size = "", scale = 2.5e-01 : f32} : (!q, !k, !k, !s, !s, !s, !s) -> (!q, !per_head)
  %all, %l2 = heddle.attention %many, %k, %v queries(%ts, %tl) keys(%ts, %tl)
    {heads = 4 : i64, key_size = "length", query_size = "", scale = 2.5e-01 : f32}
    : (!many, !k, !k, !t, !t, !t, !t) -> (!many, !many_per_head)
  %used, %l3 = heddle.attention %q, %k, %v queries(%qs, %ql) keys(%ks, %kl)
    {heads = 4 : i64, key_size = "length", query_size = "", scale = 2.5e-01 : f32} : (!q, !k, !k, !s, !s, !s, !s) -> (!q, !per_head)
  return %short, %window, %all, %l3 : !q, !q, !many, !per_head
}
