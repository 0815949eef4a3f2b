// Tiles of matmuls on tensor cores are large if there are enough of them, so that operands are read less often. An
// epilogue is computed on a few columns at a time, which leaves a lane registers for its operands.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-set-precision{precision=bf16},heddle-fuse-kernels),heddle-tile{target=cuda:sm_90a})' | FileCheck %s

!x = tensor<?x1024xf32, #heddle.dims<"tokens">>
!few = tensor<?x1024xf32, #heddle.dims<"short">>
heddle.size @tokens max 16384
heddle.size @short max 128

// There are more tiles than processors, so each workgroup computes several.
// CHECK-LABEL: func.func @many
// CHECK: tile.launch @matmul{{.*}} grid [#tile.grid<"", 1, 132>, #tile.grid<"", 1, 1>, #tile.grid<"", 1, 1>]
func.func @many(%x: !x, %w: tensor<1024x1024xf32>, %r: !x) -> !x {
  %p = heddle.matmul %x, %w : !x, tensor<1024x1024xf32> -> !x
  %s = arith.addf %p, %r : !x
  return %s : !x
}

// A gradient of weights: using half of the processors is faster than tiles so small that the cache is the bottleneck.
// CHECK-LABEL: func.func @weights
// CHECK: tile.launch @matmul{{.*}} grid [#tile.grid<"", 1, 64>, #tile.grid<"", 1, 1>, #tile.grid<"", 1, 1>]
func.func @weights(%x: !x, %g: !x) -> tensor<1024x1024xf32> {
  %p = heddle.matmul %x, %g {transpose_lhs} : !x, !x -> tensor<1024x1024xf32>
  return %p : tensor<1024x1024xf32>
}

// CHECK-LABEL: func.func @few
// CHECK: tile.launch @matmul{{.*}} grid [#tile.grid<"short", 64, 32>, #tile.grid<"", 1, 1>, #tile.grid<"", 1, 1>]
func.func @few(%x: !few, %w: tensor<1024x1024xf32>) -> !few {
  %p = heddle.matmul %x, %w : !few, tensor<1024x1024xf32> -> !few
  return %p : !few
}

// CHECK: tile.func @matmul_addf_Tx1024(
// CHECK-SAME: %[[R:[a-z0-9]*]]: memref<?x1024xf32>, %[[S:[a-z0-9]*]]: memref<?x1024xf32>, %{{.*}}: index) attributes {mapping = #tile.mapping<tensor>, vector = 4 : i64, workgroup = 256 : i64}
// Workgroups that run at once compute a compact part of the result: strips of eight tiles. The last strip may have
// fewer.
// CHECK-DAG: %[[BEGIN:.*]] = gpu.block_id x
// CHECK-DAG: %[[COUNT:.*]] = gpu.grid_dim x
// CHECK: scf.for %[[NUMBER:.*]] = %[[BEGIN]] to %{{.*}} step %[[COUNT]]
// CHECK: %[[STRIP:.*]] = arith.divui %[[NUMBER]], %c32
// CHECK: %[[FIRST:.*]] = arith.muli %[[STRIP]], %c8
// CHECK: %[[LEFT:.*]] = arith.subi %{{.*}}, %[[FIRST]]
// CHECK: %[[WIDTH:.*]] = arith.minsi %[[LEFT]], %c8
// CHECK: %[[INSIDE:.*]] = arith.remui %[[NUMBER]], %c32
// CHECK-DAG: arith.remui %[[INSIDE]], %[[WIDTH]]
// CHECK-DAG: arith.divui %[[INSIDE]], %[[WIDTH]]
// CHECK: %[[P:.*]] = scf.for
// CHECK: tile.dot {{.*}} : tensor<128x64xbf16>, tensor<256x64xbf16> -> tensor<128x256xf32>
// CHECK: %[[P0:.*]] = tile.columns %[[P]] from 0 : tensor<128x256xf32> -> tensor<128x64xf32>
// CHECK: %[[R0:.*]] = tile.load %[[R]]
// CHECK: %[[S0:.*]] = arith.addf %[[P0]], %[[R0]]
// CHECK: tile.store %[[S0]], %[[S]]
// CHECK: tile.columns %[[P]] from 64
// CHECK: tile.columns %[[P]] from 128
// CHECK: tile.columns %[[P]] from 192
// CHECK: tile.store
// CHECK-NOT: tile.columns
// CHECK: tile.return
