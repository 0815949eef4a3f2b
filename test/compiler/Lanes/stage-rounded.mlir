// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-stage-operands{target=cuda:sm_90a},cse))' | FileCheck %s
// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-stage-operands{target=cuda:sm_90a},heddle-assign-layouts{target=cuda:sm_90a},cse))' | FileCheck %s --check-prefix=LAYOUT
// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-stage-operands{target=cuda:sm_90a},heddle-assign-layouts{target=cuda:sm_90a},heddle-lower-to-lanes,canonicalize,cse))' | FileCheck %s --check-prefix=LANES
// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-stage-operands{target=cuda:sm_80}))' | FileCheck %s --check-prefix=OLDER

// Operands of f32 come to shared memory through registers. The first tile is stored before the loop, and the second is
// loaded. A step multiplies its tile, stores the next one, and loads the one after it. The last steps load their own tile
// again, which no step reads.
// CHECK-LABEL: tile.func @product
// CHECK-DAG: %[[LEFT:.*]] = tile.shared : memref<384x32xf32, #tile.swizzled<panel_rows = 128>
// CHECK-DAG: %[[RIGHT:.*]] = tile.shared : memref<192x32xf32, #tile.swizzled<panel_rows = 64>
// CHECK: %[[A0:.*]] = tile.load %arg0[%c0, %c0]
// CHECK: %[[B0:.*]] = tile.load %arg1[%c0, %c0] {{.*}}transposed
// CHECK: tile.store %[[A0]], %[[LEFT]]
// CHECK: %[[A1:.*]] = tile.load %arg0
// CHECK: tile.store %[[B0]], %[[RIGHT]]
// CHECK: %[[B1:.*]] = tile.load %arg1
// CHECK: scf.for %[[K:.*]] = %c0 to %c256 step %c32 iter_args(%[[SUM:.*]] = %{{.*}}, %[[NOW:.*]] = %c0, %[[AHEAD:.*]] = %c1, %[[A:.*]] = %[[A1]], %[[B:.*]] = %[[B1]])
// CHECK-NEXT: tile.wait 0
// CHECK: %[[NEXT:.*]] = tile.warpgroup_dot %[[SUM]], %[[LEFT]][%{{.*}}], %[[RIGHT]][%{{.*}}] depth 32 {transpose_rhs}
// CHECK: %[[LATER:.*]] = arith.select %{{.*}}, %{{.*}}, %[[K]]
// CHECK: tile.store %[[A]], %[[LEFT]]
// CHECK: %[[A2:.*]] = tile.load %arg0[%c0, %[[LATER]]] {any_padding}
// CHECK: tile.store %[[B]], %[[RIGHT]]
// CHECK: %[[B2:.*]] = tile.load %arg1[%[[LATER]], %c0] {any_padding, transposed}
// CHECK: tile.warpgroup_wait 1
// CHECK: scf.yield %[[NEXT]], %{{.*}}, %{{.*}}, %[[A2]], %[[B2]]
// CHECK: tile.warpgroup_wait 0

// Eight lanes share a row along the K dimension. If the load transposes, neighbouring lanes have neighbouring columns of
// the matrix.
// LAYOUT-LABEL: tile.func @product
// LAYOUT: tile.load %arg0{{.*}} -> tensor<128x32xf32, #tile.simt<lanes = [32, 8], strides = [8, 1], vector = 4>>
// LAYOUT: tile.load %arg1{{.*}} -> tensor<64x32xf32, #tile.simt<lanes = [32, 8], strides = [1, 32], vector = 4>>

// A lane stores four elements of a row, rounded, where the swizzle has them. All its rows have one address, plus a
// constant. Tensor cores of other lanes see them after a fence and a barrier.
// LANES-LABEL: tile.func @product
// LANES: nvvm.convert.float.to.tf32 %{{.*}} {rnd = #nvvm.fp_rnd_mode<rna>}
// LANES: arith.bitcast %{{.*}} : i32 to f32
// LANES: vector.store %{{.*}}[%{{.*}}, %[[PLACE:.*]]] : memref<384x32xf32, #gpu.address_space<workgroup>>, vector<4xf32>
// LANES: %[[FURTHER:.*]] = arith.addi %[[PLACE]], %c1024
// LANES: vector.store %{{.*}}[%{{.*}}, %[[FURTHER]]]
// LANES: nvvm.bar.warp.sync
// LANES: scf.for
// LANES: fence.proxy.async.shared::cta;
// LANES-NEXT: gpu.barrier
// LANES: wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 {{.*}}, adds, 1, 1;
// LANES: nvvm.wgmma.commit.group.sync.aligned
// LANES: vector.store
// LANES: nvvm.bar.warp.sync
// LANES: vector.load %arg0
// LANES: nvvm.wgmma.wait.group.sync.aligned 1

// OLDER-LABEL: tile.func @product
// OLDER-NOT: tile.shared
// OLDER: tile.dot
tile.func @product(%a: memref<128x256xf32>, %b: memref<256x64xf32>, %c: memref<128x64xf32>)
    attributes {workgroup = 256 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c256 = arith.constant 256 : index
  %sum = scf.for %k = %c0 to %c256 step %c32 iter_args(%state = %zero) -> tensor<128x64xf32> {
    %x = tile.load %a[%c0, %k] {any_padding} : memref<128x256xf32> -> tensor<128x32xf32>
    %y = tile.load %b[%k, %c0] {any_padding, transposed} : memref<256x64xf32> -> tensor<64x32xf32>
    %next = tile.dot %x, %y, %state {transpose_rhs} : tensor<128x32xf32>, tensor<64x32xf32> -> tensor<128x64xf32>
    scf.yield %next : tensor<128x64xf32>
  }
  tile.store %sum, %c[%c0, %c0] : tensor<128x64xf32>, memref<128x64xf32>
  tile.return
}

// The number of steps is known at run time only: the loop runs at least once. Elements past the end become zero when they
// are stored, so that lanes do not wait for them when they are loaded.
// CHECK-LABEL: tile.func @dynamic
// CHECK: scf.for {{.*}} iter_args({{.*}}, %[[X:.*]] = %{{.*}})
// CHECK: tile.warpgroup_dot
// CHECK: %[[NUMBERS:.*]] = tile.index %{{.*}} dim 1 : tensor<1x32xi32>
// CHECK: %[[INSIDE:.*]] = arith.cmpi slt, %[[NUMBERS]]
// CHECK: %[[ALL:.*]] = tile.broadcast %[[INSIDE]]
// CHECK: %[[CUT:.*]] = arith.select %[[ALL]], %[[X]]
// CHECK: tile.store %[[CUT]]
// CHECK: tile.load %arg0[%{{.*}}] rows(%{{.*}}) {any_padding, transposed}
tile.func @dynamic(%a: memref<?x128xf32>, %c: memref<128x128xf32>, %n: index)
    attributes {workgroup = 256 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %sum = scf.for %k = %c0 to %n step %c32 iter_args(%state = %zero) -> tensor<128x128xf32> {
    %x = tile.load %a[%k, %c0] rows(%n) {transposed} : memref<?x128xf32> -> tensor<128x32xf32>
    %next = tile.dot %x, %x, %state {transpose_rhs} : tensor<128x32xf32>, tensor<128x32xf32> -> tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  tile.store %sum, %c[%c0, %c0] : tensor<128x128xf32>, memref<128x128xf32>
  tile.return
}
