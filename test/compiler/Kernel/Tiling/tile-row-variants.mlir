// A decoder's matmuls have kernels for one row, for few and for many. A call runs one of them.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=cpu:x86-64-v3})' | FileCheck %s
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=vulkan:software})' | FileCheck %s --check-prefix=ONE

// CHECK-DAG: heddle.size @rows max 128
// CHECK-DAG: heddle.size @rows_1_to_1 max 1 of @rows from 0 within
// CHECK-DAG: heddle.size @rows_2_to_8 max 8 of @rows from 1 within
// CHECK-DAG: heddle.size @rows_9_to_128 max 128 of @rows from 8 within
// CHECK-DAG: heddle.size @two_1_to_1 max 1 of @two from 0 within
// CHECK-DAG: heddle.size @two_2_to_2 max 2 of @two from 1 within
// CHECK-NOT: @one_
// ONE-NOT: within
heddle.size @rows max 128
heddle.size @two max 2
heddle.size @one max 1
heddle.variable @cache cache : tensor<64x512xf32>
heddle.variable @w weight : tensor<512x512xf32>
heddle.variable @cache.w.bf16 cache of @w as rounded : tensor<512x512xbf16>
!x = tensor<?x512xf32, #heddle.dims<"rows">>
!two = tensor<?x512xf32, #heddle.dims<"two">>
!one = tensor<?x512xf32, #heddle.dims<"one">>

// The entry that extends a cache is an entry of decoding.
// CHECK-LABEL: func.func @step(
// CHECK: tile.launch @matmul_Tx512(%{{.*}}) grid [#tile.grid<"rows_9_to_128", {{[0-9]+}}, 1>, #tile.grid<"", 1, {{[0-9]+}}>, #tile.grid<"", 1, 1>]
// CHECK-SAME: variants [#tile.variant<@matmul_Tx512_upto1 grid [#tile.grid<"rows_1_to_1",
// CHECK-SAME: #tile.variant<@matmul_Tx512_upto8 grid [#tile.grid<"rows_2_to_8",
// ONE-LABEL: func.func @step(
// ONE: tile.launch @matmul_Tx512(%{{.*}}) {{.*}} reuse [-1] : (
func.func @step(%x: !x, %w: tensor<512x512xf32>) -> (!x, tensor<64x512xf32>) {
  %c = heddle.read @cache : tensor<64x512xf32>
  %p = heddle.matmul %x, %w : !x, tensor<512x512xf32> -> !x
  return %p, %c : !x, tensor<64x512xf32>
}

// CHECK-LABEL: func.func @twoAtMost(
// CHECK: tile.launch @matmul_Tx512{{.*}}"two_2_to_2"{{.*}} variants [#tile.variant<@{{.*}}_upto1{{[^@]*}}
func.func @twoAtMost(%x: !two, %w: tensor<512x512xf32>) -> (!two, tensor<64x512xf32>) {
  %c = heddle.read @cache : tensor<64x512xf32>
  %p = heddle.matmul %x, %w : !two, tensor<512x512xf32> -> !two
  return %p, %c : !two, tensor<64x512xf32>
}

// There is at most one row, so there are no variants.
// CHECK-LABEL: func.func @oneAtMost(
// CHECK: tile.launch @{{.*}} reuse [-1] : (
func.func @oneAtMost(%x: !one, %w: tensor<512x512xf32>) -> (!one, tensor<64x512xf32>) {
  %c = heddle.read @cache : tensor<64x512xf32>
  %p = heddle.matmul %x, %w : !one, tensor<512x512xf32> -> !one
  return %p, %c : !one, tensor<64x512xf32>
}

// Without a cache it is an entry of training or evaluation, whose calls have many rows. A rounded copy of a weight is
// no cache.
// CHECK-LABEL: func.func @training(
// CHECK: tile.launch @matmul_Tx512(%{{.*}}) grid {{.*}}"rows", {{.*}} reuse [-1] : (
func.func @training(%x: !x, %w: tensor<512x512xf32>) -> (!x, tensor<512x512xbf16>) {
  %c = heddle.read @cache.w.bf16 : tensor<512x512xbf16>
  %p = heddle.matmul %x, %w : !x, tensor<512x512xf32> -> !x
  return %p, %c : !x, tensor<512x512xbf16>
}

// A gradient contracts the call's rows. Its own rows are those of a weight.
// CHECK-LABEL: func.func @gradient(
// CHECK: tile.launch @matmul_512x512(%{{.*}} reuse [-1] : (
func.func @gradient(%x: !x, %y: !x) -> (tensor<512x512xf32>, tensor<64x512xf32>) {
  %c = heddle.read @cache : tensor<64x512xf32>
  %p = heddle.matmul %x, %y {transpose_lhs} : !x, !x -> tensor<512x512xf32>
  return %p, %c : tensor<512x512xf32>, tensor<64x512xf32>
}
