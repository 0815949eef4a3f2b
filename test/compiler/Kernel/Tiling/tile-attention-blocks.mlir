// Attention in blocks, for GPUs without tensor cores: a step's keys and values, and the probabilities, come to shared
// memory between barriers. Matmuls are loops over parts of the head's width, or over parts of the step.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=vulkan:portable})' | FileCheck %s
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=vulkan:portable},tile.func(heddle-stage-operands{target=vulkan:portable},heddle-assign-layouts{target=vulkan:portable},heddle-lower-to-lanes))' | FileCheck %s --check-prefix=LANES

!x = tensor<?x128xf32, #heddle.dims<"tokens">>
!heads = tensor<?x2xf32, #heddle.dims<"tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
heddle.size @tokens max 2048
heddle.size @sequences max 64
heddle.size @length max 256 longest "lengths"

// CHECK-LABEL: tile.func @attention_Tx128(
// CHECK-SAME: mapping = #tile.mapping<blocks>, vector = 4 : i64, workgroup = 128
// CHECK: tile.shared : memref<32x16xf32, strided<[20, 1]>
// CHECK-COUNT-2: tile.shared : memref<16x64xf32, strided<[68, 1]>
// CHECK: %[[QUERY:.*]] = tile.shared : memref<32x64xf32, strided<[68, 1]>
// CHECK: tile.store %{{[0-9]+}}, %[[QUERY]]
// CHECK: scf.for
// CHECK: tile.wait 0
// CHECK: tile.store %{{[0-9]+}}, %[[KEY:[0-9]+]][
// CHECK: tile.wait 0
// CHECK: scf.for {{.*}} = %{{.*}} to %c64{{.*}} step %c8
// CHECK: %[[Q:.*]] = tile.load %[[QUERY]]{{.*}} -> tensor<32x8xf32>
// CHECK: %[[K:.*]] = tile.load %[[KEY]]{{.*}} -> tensor<16x8xf32>
// CHECK: tile.dot %[[Q]], %[[K]], %{{.*}} {transpose_rhs} : {{.*}} -> tensor<32x16xf32>
// CHECK: tile.reduce max
// CHECK: tile.store %{{[0-9]+}}, %[[VALUE:[0-9]+]][
// CHECK: tile.store %{{[0-9]+}}, %[[P:[0-9]+]][
// CHECK: tile.wait 0
// CHECK: scf.for {{.*}} = %{{.*}} to %c16{{.*}} step %c8
// CHECK: %[[W:.*]] = tile.load %[[P]]{{.*}} -> tensor<32x8xf32>
// CHECK: %[[V:.*]] = tile.load %[[VALUE]]{{.*}} -> tensor<8x64xf32>
// CHECK: tile.dot %[[W]], %[[V]], %{{.*}} : {{.*}} -> tensor<32x64xf32>

// A row's maximum is computed across the eight lanes that share the row.
// LANES-LABEL: tile.func @attention_Tx128(
// LANES: gpu.shuffle xor %{{.*}}, %c1_i32, %c8_i32
// LANES: gpu.shuffle xor %{{.*}}, %c2_i32, %c8_i32
// LANES: gpu.shuffle xor %{{.*}}, %c4_i32, %c8_i32
// LANES-NOT: %c16_i32
func.func @attention(%q: !x, %k: !x, %v: !x, %starts: !segments, %lengths: !segments) -> (!x, !heads) {
  %y, %lse = heddle.attention %q, %k, %v queries(%starts, %lengths) keys(%starts, %lengths) {heads = 2 : i64, scale = 0.125 : f32, query_size = "length", key_size = "length"} : (!x, !x, !x, !segments, !segments, !segments, !segments) -> (!x, !heads)
  return %y, %lse : !x, !heads
}

// If keys and values are the same tensor, a barrier separates the matmul of the queries from that of the gradients.
// CHECK-LABEL: tile.func @attention_grad_query_Tx128(
// CHECK: tile.wait 0
// CHECK-NEXT: tile.store %{{[0-9]+}}, %[[ROWS:[0-9]+]][
// CHECK: tile.load %[[ROWS]][
// CHECK: math.exp2
// CHECK: tile.wait 0
// CHECK: tile.load %[[ROWS]][
// CHECK: tile.wait 0
// CHECK: tile.load %[[ROWS]][
func.func @keys_are_values(%q: !x, %k: !x, %g: !x, %lse: !heads, %d: !heads, %starts: !segments, %lengths: !segments) -> !x {
  %y = heddle.attention_grad_query %q, %k, %k gradient %g, %lse, %d queries(%starts, %lengths) keys(%starts, %lengths) {heads = 2 : i64, scale = 0.125 : f32, query_size = "length", key_size = "length"} : (!x, !x, !x, !x, !heads, !heads, !segments, !segments, !segments, !segments) -> !x
  return %y : !x
}

// Heads wider than 64 keep the owned rows in registers. For two keys at a time, each lane multiplies its part of them,
// and the lanes along a row add up their parts.
// CHECK-LABEL: tile.func @attention_Tx128_2(
// CHECK: tile.shared : memref<32x16xf32, strided<[20, 1]>
// CHECK-COUNT-2: tile.shared : memref<16x128xf32, strided<[132, 1]>
// CHECK-NOT: tile.shared
// CHECK: %[[QUERY:.*]] = tile.load {{.*}} -> tensor<32x128xf32>
// CHECK: %[[SCALED:.*]] = arith.mulf %[[QUERY]]
// CHECK: scf.for
// CHECK: tile.store %{{[0-9]+}}, %[[KEY:[0-9]+]][
// CHECK: tile.wait 0
// CHECK: scf.for %[[FIRST:.*]] = %{{.*}} to %c16{{.*}} step %c2{{.*}} -> (tensor<32x16xf32>)
// CHECK: %[[ROW:.*]] = tile.load %[[KEY]][%[[FIRST]], {{.*}} -> tensor<1x128xf32>
// CHECK: %[[PART:.*]] = arith.mulf %[[SCALED]]
// CHECK: %[[SUM:.*]] = tile.reduce sum %[[PART]]
// CHECK: arith.select
// CHECK: tile.load %[[KEY]]
// CHECK: tile.reduce sum
// CHECK: tile.reduce max
// CHECK: tile.dot {{.*}} -> tensor<32x128xf32>
// CHECK-NOT: transpose_rhs
// LANES-LABEL: tile.func @attention_Tx128_2(
func.func @wide_heads(%q: !x, %k: !x, %v: !x, %starts: !segments, %lengths: !segments) -> !x {
  %y, %lse = heddle.attention %q, %k, %v queries(%starts, %lengths) keys(%starts, %lengths) {heads = 1 : i64, scale = 0.125 : f32, query_size = "length", key_size = "length"} : (!x, !x, !x, !segments, !segments, !segments, !segments) -> (!x, tensor<?x1xf32, #heddle.dims<"tokens">>)
  return %y : !x
}
