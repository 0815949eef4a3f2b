// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-count-costs,heddle-join-sums{target=cuda:sm_90a},heddle-split-kernels{target=cuda:sm_90a})' | FileCheck %s
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-join-sums{target=cuda:sm_90a},heddle-tile{target=cuda:sm_90a})' | FileCheck %s --check-prefix=TILE
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-join-sums{target=cuda:sm_80})' | FileCheck %s --check-prefix=AMPERE
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-join-sums{target=vulkan:nvidia})' | FileCheck %s --check-prefix=VULKAN

// Sums over the rows of attention's gradients, and of what a matmul's epilogue makes (heddle-join-sums).

// Without warpgroups no workgroup computes several tiles of a matmul.
// AMPERE: heddle.kernel "attention_grad_query_truncf_sums"
// AMPERE-NOT: matmul{{[a-z_]*}}_sums

// Blocks make no sums on the way.
// VULKAN-NOT: partial_sums

#tokens = #heddle.dims<"tokens">
!x = tensor<?x1024xf32, #tokens>
!half = tensor<?x1024xbf16, #tokens>
!heads = tensor<?x16xf32, #tokens>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
!row = tensor<1024xf32>
!hidden = tensor<?x4096xf32, #tokens>
heddle.size @tokens max 16384
heddle.size @sequences max 128
heddle.size @length max 128
heddle.size @long_length max 4096

// Sequences of up to 128 rows have two rows of the partial sums each, for 64 rows of a workgroup at least.
// CHECK: heddle.size @"sequences*2" max 256 of @sequences times 2
// CHECK-LABEL: func.func @query(
// CHECK: %[[N:.*]]:2 = heddle.kernel "attention_grad_query_truncf_sums"(
// CHECK-SAME: -> tensor<?x1024xbf16, {{.*}}>, tensor<?x1024xf32, #heddle.dims<"sequences*2">> {
// CHECK: %[[HALF:.*]] = arith.truncf
// CHECK: %[[WIDE:.*]] = arith.extf %[[HALF]]
// CHECK: %[[SUMS:.*]] = heddle.partial_sums %[[WIDE]]
// CHECK: heddle.yield %[[HALF]], %[[SUMS]]
// CHECK: heddle.cost
// CHECK: %[[S:.*]] = heddle.kernel "sum"(%[[N]]#1 :
// CHECK: heddle.sum rows
// CHECK: return %[[N]]#0, %[[S]]

// Each subgroup adds up its rows in shared memory, and a workgroup past the end of its sequence writes zeros.
// TILE: tile.launch @attention_grad_query_truncf_sums_Tx1024({{.*}}) grid [#tile.grid<"", 1, 2>, #tile.grid<"", 1, 16>, #tile.grid<"sequences", 1, 1>]
// TILE-LABEL: tile.func @attention_grad_query_truncf_sums_Tx1024(
// TILE-DAG: %[[SHARED:.*]] = tile.shared : memref<4x64xf32
// TILE-DAG: %[[BLOCK:.*]] = gpu.block_id  x
// TILE-DAG: %[[SEQUENCE:.*]] = gpu.block_id  z
// TILE: %[[FIRST:.*]] = arith.muli %[[SEQUENCE]], %c2
// TILE: %[[ROW:.*]] = arith.addi %[[FIRST]], %[[BLOCK]]
// TILE: scf.if
// TILE: %[[Q:.*]] = scf.for
// TILE: arith.extf
// TILE: %[[INSIDE:.*]] = arith.select
// TILE: %[[PART:.*]] = tile.reduce {{ *}}sum %[[INSIDE]] dim 0 : tensor<64x64xf32> -> tensor<4x64xf32>
// TILE: tile.store %[[PART]], %[[SHARED]][%c0, %c0]
// TILE: tile.wait
// TILE: tile.load %[[SHARED]][%c3, %c0]
// TILE: tile.store %{{.*}}, %{{.*}}[%[[ROW]],
// TILE: } else {
// TILE: tile.store %{{.*}}, %{{.*}}[%[[ROW]],
func.func @query(%q: !half, %k: !half, %v: !half, %g: !half, %lse: !heads, %d: !heads, %s: !segments, %l: !segments) -> (!half, !row) {
  %dq = heddle.attention_grad_query %q, %k, %v gradient %g, %lse, %d queries(%s, %l) keys(%s, %l)
    {heads = 16 : i64, scale = 0.125 : f32, query_size = "length", key_size = "length"}
    : (!half, !half, !half, !half, !heads, !heads, !segments, !segments, !segments, !segments) -> !x
  %half = arith.truncf %dq : !x to !half
  %wide = arith.extf %half : !half to !x
  %b = heddle.sum rows %wide : !x -> !row
  return %half, %b : !half, !row
}

// CHECK-LABEL: func.func @keys(
// CHECK: heddle.kernel "attention_grad_key_value_sums"(
// CHECK-SAME: -> tensor<?x1024xf32, {{.*}}>, tensor<?x1024xf32, {{.*}}>, tensor<?x1024xf32, #heddle.dims<"sequences*2">>, tensor<?x1024xf32, #heddle.dims<"sequences*2">> {
// CHECK-NOT: "partial_sum
func.func @keys(%q: !half, %k: !half, %v: !half, %g: !half, %lse: !heads, %d: !heads, %s: !segments, %l: !segments) -> (!x, !x, !row, !row) {
  %dk, %dv = heddle.attention_grad_key_value %q, %k, %v gradient %g, %lse, %d queries(%s, %l) keys(%s, %l)
    {heads = 16 : i64, scale = 0.125 : f32, query_size = "length", key_size = "length"}
    : (!half, !half, !half, !half, !heads, !heads, !segments, !segments, !segments, !segments) -> (!x, !x)
  %b = heddle.sum rows %dk : !x -> !row
  %c = heddle.sum rows %dv : !x -> !row
  return %dk, %dv, %b, %c : !x, !x, !row, !row
}

// The longest of 128 sequences would have 64 rows of the partial sums, so these would have half as many rows as the tokens.
// CHECK-LABEL: func.func @long(
// CHECK: heddle.kernel "attention_grad_query"
// CHECK: heddle.kernel "partial_sum"
func.func @long(%q: !half, %k: !half, %v: !half, %g: !half, %lse: !heads, %d: !heads, %s: !segments, %l: !segments) -> (!x, !row) {
  %dq = heddle.attention_grad_query %q, %k, %v gradient %g, %lse, %d queries(%s, %l) keys(%s, %l)
    {heads = 16 : i64, scale = 0.125 : f32, query_size = "long_length", key_size = "long_length"}
    : (!half, !half, !half, !half, !heads, !heads, !segments, !segments, !segments, !segments) -> !x
  %b = heddle.sum rows %dq : !x -> !row
  return %dq, %b : !x, !row
}

// 64 tiles of 256 rows have eight subgroups each.
// CHECK-LABEL: func.func @hidden(
// CHECK: %[[N:.*]]:2 = heddle.kernel "matmul_select_sums"(
// CHECK-SAME: -> tensor<?x4096xf32, {{.*}}>, tensor<512x4096xf32> {
// CHECK: %[[MASKED:.*]] = arith.select
// CHECK: heddle.partial_sums %[[MASKED]]
// CHECK: heddle.kernel "sum"(%[[N]]#1 :

// The rows of a tile that has no rows are zeros. Workgroups write them before they begin with their tiles.
// TILE-LABEL: tile.func @matmul_select_sums_Tx4096(
// TILE: %[[OWN:.*]] = gpu.block_id  x
// TILE: %[[USED:.*]] = arith.muli %{{.*}}, %c8
// TILE: %[[FROM:.*]] = arith.addi %[[USED]], %[[OWN]]
// TILE: scf.for %[[R:.*]] = %[[FROM]] to %c512 step
// TILE: scf.for %[[C:.*]] = %c0 to %c4096 step %c128
// TILE: tile.store %{{.*}}, %arg4[%[[R]], %[[C]]] : tensor<1x128xf32>
// TILE: scf.for %{{.*}} = %[[OWN]] to
// TILE: %[[FROM:.*]] = arith.muli %{{.*}}, %c256
// TILE: %[[TILE:.*]] = arith.divui %[[FROM]], %c256
// TILE: %[[FIRST:.*]] = arith.muli %[[TILE]], %c8
// TILE: tile.reduce {{ *}}sum %{{.*}} dim 0 : tensor<256x{{[0-9]+}}xf32> -> tensor<8x{{[0-9]+}}xf32>
// TILE: tile.store %{{.*}}, %arg4[%[[FIRST]],
func.func @hidden(%x: !half, %w: tensor<1024x4096xbf16>, %h: !hidden) -> (!hidden, tensor<4096xf32>) {
  %p = heddle.matmul %x, %w : !half, tensor<1024x4096xbf16> -> !hidden
  %zeros = heddle.fill 0.0 : f32 : !hidden
  %c = arith.cmpf ogt, %h, %zeros : !hidden
  %y = arith.select %c, %p, %zeros : tensor<?x4096xi1, #tokens>, !hidden
  %b = heddle.sum rows %y : !hidden -> tensor<4096xf32>
  return %y, %b : !hidden, tensor<4096xf32>
}

// A sum of more than the results, and a matmul with too few tiles.
// CHECK-LABEL: func.func @apart(
// CHECK: heddle.kernel "matmul"(
// CHECK: heddle.kernel "partial_sum_mulf"(
// CHECK: heddle.kernel "matmul"(
// CHECK: heddle.kernel "partial_sum"(
func.func @apart(%x: !half, %w: tensor<1024x4096xbf16>, %h: !hidden, %v: tensor<1024x128xbf16>) -> (!hidden, tensor<4096xf32>, tensor<?x128xf32, #tokens>, tensor<128xf32>) {
  %p = heddle.matmul %x, %w : !half, tensor<1024x4096xbf16> -> !hidden
  %q = arith.mulf %p, %h : !hidden
  %b = heddle.sum rows %q : !hidden -> tensor<4096xf32>
  %r = heddle.matmul %x, %v : !half, tensor<1024x128xbf16> -> tensor<?x128xf32, #tokens>
  %c = heddle.sum rows %r : tensor<?x128xf32, #tokens> -> tensor<128xf32>
  return %p, %b, %r, %c : !hidden, tensor<4096xf32>, tensor<?x128xf32, #tokens>, tensor<128xf32>
}
