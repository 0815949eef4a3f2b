// Attention on cooperative matrices: the sums of each matmul are converted to a layout that lanes know. The
// probabilities that lanes compute go through shared memory as f16.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=vulkan:nvidia})' | FileCheck %s
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=vulkan:nvidia},tile.func(heddle-stage-operands{target=vulkan:nvidia},heddle-assign-layouts{target=vulkan:nvidia},heddle-lower-conversions))' | FileCheck %s --check-prefix=MEMORY
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=vulkan:nvidia},tile.func(heddle-stage-operands{target=vulkan:nvidia},heddle-assign-layouts{target=vulkan:nvidia},heddle-lower-conversions,heddle-lower-to-lanes))' | FileCheck %s --check-prefix=LANES
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=vulkan:portable})' | FileCheck %s --check-prefix=BLOCKS

!x = tensor<?x128xf16, #heddle.dims<"tokens">>
!sums = tensor<?x128xf32, #heddle.dims<"tokens">>
!heads = tensor<?x2xf32, #heddle.dims<"tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
heddle.size @tokens max 2048
heddle.size @sequences max 64
heddle.size @length max 256 longest "lengths"

// Four subgroups own 16 queries each, as operands that stay in registers.
// CHECK-LABEL: tile.func @attention_Tx128(
// CHECK-SAME: attributes {mapping = #tile.mapping<tensor>, vector = 4 : i64, workgroup = 128
// CHECK: %[[FACTORS:.*]] = tile.shared : memref<64x16xf32
// CHECK: %[[P:.*]] = tile.shared : memref<64x32xf16
// CHECK: %[[VALUES:.*]] = tile.shared : memref<32x64xf16
// CHECK-NOT: tile.shared : memref<64x32xf32
// CHECK: %[[KEYS:.*]] = tile.shared : memref<32x64xf16
// CHECK: %[[QUERIES:.*]] = tile.shared : memref<64x64xf16
// CHECK: tile.store %{{.*}}, %[[QUERIES]]
// CHECK: tile.wait 0
// CHECK: %[[Q:.*]] = tile.load %[[QUERIES]]
// CHECK: scf.for {{.*}} step %c32 iter_args(%{{.*}}, %{{.*}}, %[[SUMS:.*]] = %{{.*}})
// CHECK: tile.wait 0
// CHECK: tile.store %{{.*}}, %[[KEYS]]
// CHECK: tile.wait 0
// One matrix at a time along the K dimension.
// CHECK: %[[PART:.*]] = tile.columns %[[Q]] from 0
// CHECK: %[[K:.*]] = tile.load %[[KEYS]]{{.*}} -> tensor<32x16xf16>
// CHECK: tile.dot %[[PART]], %[[K]], %{{.*}} {transpose_rhs} : {{.*}} -> tensor<64x32xf32>
// CHECK: tile.columns %[[Q]] from 48
// CHECK: %[[S:.*]] = tile.dot
// CHECK-NOT: tile.store %[[S]]
// CHECK: tile.reduce max
// CHECK: tile.store %{{.*}}, %[[VALUES]]
// CHECK: %[[ROUNDED:.*]] = arith.truncf {{.*}} to tensor<64x32xf16>
// CHECK: tile.store %[[ROUNDED]], %[[P]]
// A row's sums are multiplied by a number that lanes hold. It is written once for each column of a matrix.
// CHECK: %[[REPEATED:.*]] = tile.broadcast {{.*}} -> tensor<64x16xf32>
// CHECK: tile.store %[[REPEATED]], %[[FACTORS]]
// CHECK: tile.wait 0
// CHECK: %[[ALIKE:.*]] = tile.load %[[FACTORS]]
// CHECK: %[[ALL:.*]] = tile.broadcast %[[ALIKE]] : tensor<64x16xf32> -> tensor<64x64xf32>
// CHECK: %[[RESCALED:.*]] = arith.mulf %[[SUMS]], %[[ALL]]
// CHECK: %[[W:.*]] = tile.load %[[P]]
// CHECK: %[[V:.*]] = tile.load %[[VALUES]]{{.*}} {any_padding, transposed} : {{.*}} -> tensor<64x16xf16>
// CHECK: tile.dot %[[W]], %[[V]], %[[RESCALED]] {transpose_rhs}
// CHECK: tile.columns {{.*}} from 32

// Scores have shared memory of their own: their last readers are done when the next step writes. Results use the same
// memory, as many columns at a time as fit.
// MEMORY-LABEL: tile.func @attention_Tx128(
// MEMORY: %[[SCORES:.*]] = tile.shared : memref<64x32xf32
// MEMORY-NOT: tile.shared : memref<64x32xf32
// MEMORY: scf.for
// MEMORY-COUNT-3: tile.dot
// MEMORY: %[[S:.*]] = tile.dot
// MEMORY-NOT: tile.wait
// MEMORY: tile.store %[[S]], %[[SCORES]]
// MEMORY-NEXT: tile.wait 0
// MEMORY-NEXT: tile.load %[[SCORES]]{{.*}} -> tensor<64x32xf32, #tile.simt
// MEMORY: tile.columns {{.*}} from 0
// MEMORY-NOT: tile.wait
// MEMORY: tile.store %{{.*}}, %[[SCORES]]
// MEMORY-NEXT: tile.wait 0
// MEMORY-NEXT: tile.load %[[SCORES]]
// MEMORY: tile.columns {{.*}} from 32
// MEMORY: tile.wait 0
// MEMORY-NEXT: tile.store %{{.*}}, %[[SCORES]]
// MEMORY-NEXT: tile.wait 0
// MEMORY-NEXT: tile.load %[[SCORES]]

// A subgroup's step: 4 parts of a head by 2 times 16 keys, and 2 parts of the step by 4 times 16 columns.
// LANES-LABEL: tile.func @attention_Tx128(
// LANES: scf.for
// LANES-COUNT-8: gpu.subgroup_mma_compute
// LANES: gpu.shuffle xor
// LANES-COUNT-4: gpu.subgroup_mma_elementwise mulf
// LANES-COUNT-8: gpu.subgroup_mma_compute
// LANES-NOT: gpu.subgroup_mma_compute
// LANES: tile.func @attention_grad_key_value_Tx128(

// BLOCKS-LABEL: tile.func @attention_Tx128(
// BLOCKS-SAME: mapping = #tile.mapping<blocks>
func.func @attention(%q: !x, %k: !x, %v: !x, %starts: !segments, %lengths: !segments) -> (!sums, !heads) {
  %y, %lse = heddle.attention %q, %k, %v queries(%starts, %lengths) keys(%starts, %lengths) {heads = 2 : i64, scale = 0.125 : f32, query_size = "length", key_size = "length"} : (!x, !x, !x, !segments, !segments, !segments, !segments) -> (!sums, !heads)
  return %y, %lse : !sums, !heads
}

// Two tiles of scores and two of operands fit into 48 KiB only with half as long a step. The results leave no registers
// for owned operands.
// CHECK-LABEL: tile.func @attention_grad_key_value_Tx128(
// CHECK: tile.store %{{.*}}, %[[KEYS:[0-9]+]][
// CHECK: tile.store %{{.*}}, %[[VALUES:[0-9]+]][
// CHECK: scf.for {{.*}} step %c16 iter_args(%[[DK:.*]] = %{{.*}}, %[[DV:.*]] = %{{.*}})
// CHECK: tile.load %[[KEYS]]{{.*}} -> tensor<64x16xf16>
// CHECK-COUNT-4: tile.dot {{.*}} -> tensor<64x16xf32>
// CHECK: tile.load %[[VALUES]]{{.*}} -> tensor<64x16xf16>
// CHECK-COUNT-4: tile.dot {{.*}} -> tensor<64x16xf32>
// CHECK: arith.truncf {{.*}} to tensor<64x16xf16>
// CHECK: tile.dot %{{.*}}, %{{.*}}, %[[DK]] {transpose_rhs}
// CHECK: arith.truncf {{.*}} to tensor<64x16xf16>
// CHECK: tile.dot %{{.*}}, %{{.*}}, %[[DV]] {transpose_rhs}
func.func @gradients(%q: !x, %k: !x, %v: !x, %dy: !x, %lse: !heads, %delta: !heads, %starts: !segments, %lengths: !segments) -> (!sums, !sums) {
  %dk, %dv = heddle.attention_grad_key_value %q, %k, %v gradient %dy, %lse, %delta queries(%starts, %lengths) keys(%starts, %lengths) {heads = 2 : i64, scale = 0.125 : f32, query_size = "length", key_size = "length"} : (!x, !x, !x, !x, !heads, !heads, !segments, !segments, !segments, !segments) -> (!sums, !sums)
  return %dk, %dv : !sums, !sums
}

// With one query, only one row of a matrix would count.
// CHECK-LABEL: tile.func @attention_Tx128_2(
// CHECK-SAME: mapping = #tile.mapping<blocks>
func.func @one_query(%q: !x, %k: !x, %v: !x, %starts: !segments, %lengths: !segments) -> (!sums, !heads) {
  %y, %lse = heddle.attention %q, %k, %v queries(%starts, %lengths) keys(%starts, %lengths) {heads = 2 : i64, scale = 0.125 : f32, query_size = "", key_size = "length"} : (!x, !x, !x, !segments, !segments, !segments, !segments) -> (!sums, !heads)
  return %y, %lse : !sums, !heads
}
