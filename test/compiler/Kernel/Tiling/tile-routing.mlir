// Kernels of mixtures of experts. A tile of a grouped matmul finds the groups of its first and its last row by
// bisection, and computes one group after the other. With a single row it has one group and no loop.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=vulkan:software})' | FileCheck %s
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=cpu:x86-64-v3})' | FileCheck %s --check-prefix=CPU
// Processors that do not multiply integers unpack experts.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=cpu:x86-64-v4})' | FileCheck %s --check-prefix=FLOAT

heddle.size @tokens max 64
heddle.size @few max 2
heddle.size @one max 1
heddle.size @"tokens*2" max 128 of @tokens times 2
!scores = tensor<?x8xf32, #heddle.dims<"tokens">>
!picked = tensor<?x2xf32, #heddle.dims<"tokens">>
!chosen = tensor<?x2xi32, #heddle.dims<"tokens">>
!order = tensor<?x1xi32, #heddle.dims<"tokens*2">>
!of = tensor<?xi32, #heddle.dims<"tokens*2">>
!x = tensor<?x48xf32, #heddle.dims<"tokens">>
!rows = tensor<?x48xf32, #heddle.dims<"tokens*2">>
!wide = tensor<?x64xf32, #heddle.dims<"tokens*2">>

// Each row of scores is a segment.
// CHECK-LABEL: tile.func @top_k_Tx2(
// CHECK: %[[ROW:.*]] = gpu.block_id x
// CHECK-NOT: memref.load
// CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}]
func.func @choose(%x: !scores) -> (!picked, !chosen) {
  %largest, %same, %chosen = heddle.top_k %x : !scores -> !picked, !chosen
  %picked = heddle.pick %x, %chosen : !scores, !chosen -> !picked
  return %picked, %chosen : !picked, !chosen
}

// CHECK-LABEL: tile.func @pick_Tx2(
// CHECK: scf.for %[[E:[a-z0-9]+]] = %c0{{.*}} to %c8{{.*}} iter_args
// CHECK: tile.load %{{.*}}[%{{.*}}, %[[E]]]
// CHECK: arith.cmpi eq

// Three workgroups count a third of the rows each, and number them in the same order.
// CHECK-LABEL: tile.func @count_choices_3x8(
// CHECK: scf.for
// CHECK: arith.addi
// CHECK-LABEL: tile.func @dispatch_Tx2(
// CHECK: tile.reduce sum %{{.*}} dim 1 : tensor<1x32xi32> -> tensor<1x1xi32>
// CHECK: scf.for
// CHECK: %[[PLACE:.*]] = tile.reduce sum %{{.*}} dim 1
// CHECK: tile.store %[[PLACE]], %{{.*}}[%{{.*}}, %c0{{.*}}] : tensor<1x1xi32>, memref<?x2xi32>
// CHECK: tile.store %{{.*}}, %{{.*}} to %[[PLACE]] : tensor<1x1xi32>
func.func @sort(%chosen: !chosen) -> (!chosen, !order, !of, tensor<9xi32>) {
  %counts = heddle.count_choices %chosen : !chosen -> tensor<3x8xi32>
  %places, %order, %of, %starts = heddle.dispatch %chosen, %counts : !chosen, tensor<3x8xi32> -> !order, !of, tensor<9xi32>
  return %places, %order, %of, %starts : !chosen, !order, !of, tensor<9xi32>
}

// CHECK-LABEL: tile.func @gather_Tx48(
// CHECK: tile.gather
// CHECK: tile.gather
// CHECK: arith.addf
func.func @sums(%x: !rows, %places: !chosen, %order: !order) -> !x {
  %sums = heddle.gather %x at %places inverse %order : !rows, !chosen, !order -> !x
  return %sums : !x
}

// CHECK-LABEL: tile.func @grouped_matmul_Tx64(
// CHECK-SAME: %[[X:.*]]: memref<?x48xf32>, %[[W:.*]]: memref<384x64xf32>, %[[STARTS:.*]]: memref<1x9xi32>,
// CHECK: memref.load %[[STARTS]][%c0{{.*}}, %{{.*}}]
// CHECK: scf.for %[[G:[a-z0-9]+]] = %{{.*}} to %{{.*}} step %c1
// CHECK: %[[BEGIN:.*]] = arith.maxui
// CHECK: %[[END:.*]] = arith.minui
// CHECK: scf.if
// CHECK: %[[FIRST:.*]] = arith.muli %[[G]], %c48
// CHECK: scf.for %[[K:[a-z0-9]+]] =
// CHECK: %[[ROW:.*]] = arith.addi %[[K]], %[[FIRST]]
// CHECK: tile.load %[[X]][%[[BEGIN]], %[[K]]] rows(%[[END]])
// CHECK: tile.load %[[W]][%[[ROW]], %{{.*}}]
// The average group has 16 rows, so a processor packs the group's matrix.
// CPU-LABEL: tile.func @grouped_matmul_Tx64(
// CPU: %[[PANELS:.*]] = tile.shared : memref<256x16xf32
// CPU: scf.if
// CPU: tile.store %{{.*}}, %[[PANELS]]
func.func @forward(%x: !rows, %w: tensor<384x64xf32>, %s: tensor<9xi32>) -> !wide {
  %y = heddle.grouped_matmul %x, %w groups(%s) : !rows, tensor<384x64xf32>, tensor<9xi32> -> !wide
  return %y : !wide
}

// The gradient of a group's matrix contracts the group's rows.
// CHECK-LABEL: tile.func @grouped_matmul_384x64(
// CHECK: %[[G:.*]] = gpu.block_id z
// CHECK: memref.load %{{.*}}[%c0{{.*}}, %[[G]]]
// CHECK: scf.for
// CHECK: tile.store
func.func @gradient(%x: !rows, %g: !wide, %s: tensor<9xi32>) -> tensor<384x64xf32> {
  %w = heddle.grouped_matmul %x, %g groups(%s) {transpose_lhs} : !rows, !wide, tensor<9xi32> -> tensor<384x64xf32>
  return %w : tensor<384x64xf32>
}

// CPU-LABEL: tile.func @grouped_matmul_Tx512(
// CPU-NOT: scf.if
// CPU: tile.return
func.func @lone(%x: tensor<?x48xf32, #heddle.dims<"few">>, %w: tensor<384x512xf32>, %s: tensor<9xi32>) -> tensor<?x512xf32, #heddle.dims<"few">> {
  %y = heddle.grouped_matmul %x, %w groups(%s) : tensor<?x48xf32, #heddle.dims<"few">>, tensor<384x512xf32>, tensor<9xi32> -> tensor<?x512xf32, #heddle.dims<"few">>
  return %y : tensor<?x512xf32, #heddle.dims<"few">>
}

// Packed matrices of 64 rows: the only row of a step reads the words of its group only.
// CPU-LABEL: tile.func @grouped_matmul_Tx128(
// CPU-SAME: %{{[a-z0-9]+}}: memref<?x64xf32>, %[[WORDS:[a-z0-9]+]]: memref<64x128xi32>, %{{[a-z0-9]+}}: memref<32x128xf32>, %[[STARTS:[a-z0-9]+]]: memref<1x9xi32>
// CPU-COUNT-4: memref.load %[[STARTS]]
// CPU: %[[GROUP:.*]] = arith.select
// CPU: %[[FIRST:.*]] = arith.muli %[[GROUP]], %c64
// CPU: scf.for %[[K:[a-z0-9]+]] = %c0 to %c64
// CPU: %[[ROW:.*]] = arith.addi %[[K]], %[[FIRST]]
// CPU: tile.load %[[WORDS]][%[[ROW]], %{{.*}}] {in_place, packed = 4 : i64}
// CPU-NOT: tile.load %[[WORDS]]
// CPU: tile.return
func.func @packed(%x: tensor<?x64xf32, #heddle.dims<"one">>, %words: tensor<64x128xi32>, %scales: tensor<32x128xf32>, %s: tensor<9xi32>)
    -> tensor<?x128xf32, #heddle.dims<"one">> {
  %w = heddle.dequantize %words scales(%scales) {bits = 4} : (tensor<64x128xi32>, tensor<32x128xf32>) -> tensor<512x128xf32>
  %y = heddle.grouped_matmul %x, %w groups(%s) : tensor<?x64xf32, #heddle.dims<"one">>, tensor<512x128xf32>, tensor<9xi32> -> tensor<?x128xf32, #heddle.dims<"one">>
  return %y : tensor<?x128xf32, #heddle.dims<"one">>
}

// Two wide panels of 128 columns. A step of 32 rows reads one row of words after another, for all columns of the panel,
// and prefetches the words four rows ahead.
// FLOAT-LABEL: tile.func @grouped_matmul_Tx256(
// FLOAT-SAME: %{{[a-z0-9]+}}: memref<?x64xf32>, %[[WORDS:[a-z0-9]+]]: memref<128x128xi32>, %[[SCALES:[a-z0-9]+]]: memref<32x128xf32>
// FLOAT: scf.for %[[K:[a-z0-9]+]] = %c0 to %c64 step %c32 {
// FLOAT: %[[STEP:.*]] = arith.addi %[[K]],
// FLOAT: scf.for %[[PART:[a-z0-9]+]] = %c0 to %c32 step %c8 iter_args
// FLOAT: scf.for %{{.*}} step %c64 {
// FLOAT: %[[ROW:.*]] = arith.addi %[[STEP]], %[[PART]]
// FLOAT: arith.addi %[[ROW]], %c32
// FLOAT: memref.prefetch %[[WORDS]]
// FLOAT: tile.load %[[WORDS]]{{.*}} {in_place, packed = 4 : i64}
// FLOAT: tile.load %[[SCALES]]
// FLOAT: tile.return
// Integers: the row is split first. Sums of a row of words are integers in scratch memory until the step's last row.
// CPU-LABEL: tile.func @grouped_matmul_Tx256(
// CPU-SAME: %{{[a-z0-9]+}}: memref<?x64xf32>, %[[WORDS:[a-z0-9]+]]: memref<128x128xi32>, %[[SCALES:[a-z0-9]+]]: memref<32x128xf32>
// CPU-DAG: %[[SUMS:.*]] = tile.shared : memref<1x128xf32
// CPU-DAG: %[[UNFINISHED:.*]] = tile.shared : memref<1x128xi32
// CPU-DAG: %[[DIGITS:.*]] = tile.shared : memref<2x16xi32
// CPU-DAG: %[[STARTS:.*]] = tile.shared : memref<1x2xi32
// CPU: tile.changed
// CPU: tile.store_digits %{{.*}}, %[[DIGITS]][%{{.*}}] bits 16 packed 4
// CPU: scf.for %[[K:[a-z0-9]+]] = %c0 to %c64 step %c32 {
// CPU-COUNT-4: tile.load %[[DIGITS]]
// CPU: tile.load %[[STARTS]]
// CPU: scf.for %{{.*}} step %c16 {
// CPU: %[[STEP:.*]] = arith.addi %[[K]],
// CPU: arith.addi %[[STEP]], %c32
// CPU: memref.prefetch %[[WORDS]]
// CPU: tile.load %[[WORDS]]{{.*}} -> tensor<1x16xi32>
// CPU-COUNT-4: tile.dot {{.*}} {integers = 16 : i64} : tensor<1x1xi32>, tensor<1x16xi32> -> tensor<1x16xi32>
// CPU: tile.store %{{.*}}, %[[UNFINISHED]]
// CPU-COUNT-4: tile.load %[[DIGITS]]
// CPU: scf.for %{{.*}} step %c16 {
// CPU: tile.load %[[UNFINISHED]]
// CPU: tile.store %{{.*}}, %[[UNFINISHED]]
// CPU-COUNT-4: tile.load %[[DIGITS]]
// CPU: scf.for
// CPU: tile.store %{{.*}}, %[[UNFINISHED]]
// CPU-COUNT-4: tile.load %[[DIGITS]]
// CPU: scf.for
// CPU: tile.load %[[UNFINISHED]]
// CPU-NOT: tile.store
// CPU: arith.sitofp
// CPU: tile.load %[[SCALES]]
// CPU: tile.store %{{.*}}, %[[SUMS]]
// CPU: tile.return
func.func @panels(%x: tensor<?x64xf32, #heddle.dims<"one">>, %words: tensor<128x128xi32>, %scales: tensor<32x128xf32>, %s: tensor<9xi32>)
    -> tensor<?x256xf32, #heddle.dims<"one">> {
  %w = heddle.dequantize %words scales(%scales) {bits = 4} : (tensor<128x128xi32>, tensor<32x128xf32>) -> tensor<512x256xf32>
  %y = heddle.grouped_matmul %x, %w groups(%s) : tensor<?x64xf32, #heddle.dims<"one">>, tensor<512x256xf32>, tensor<9xi32> -> tensor<?x256xf32, #heddle.dims<"one">>
  return %y : tensor<?x256xf32, #heddle.dims<"one">>
}

// Groups of a static result end within tiles, too.
// CPU-LABEL: tile.func @grouped_matmul_96x64(
// CPU: scf.if
// CPU: tile.store %{{.*}}, %arg3[%{{.*}}, %{{.*}}] rows(%{{.*}})
func.func @of_static_rows(%x: tensor<96x48xf32>, %w: tensor<144x64xf32>, %s: tensor<4xi32>) -> tensor<96x64xf32> {
  %y = heddle.grouped_matmul %x, %w groups(%s) : tensor<96x48xf32>, tensor<144x64xf32>, tensor<4xi32> -> tensor<96x64xf32>
  return %y : tensor<96x64xf32>
}
