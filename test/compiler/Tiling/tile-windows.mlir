// Which rows are there is asked before the loop along the contracted dimension, and rows before the first read as that one.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-lower-windows,heddle-fuse-kernels),heddle-tile{target=vulkan:software})' | FileCheck %s
// RUN: not heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=vulkan:software})' 2>&1 | FileCheck %s --check-prefix=WHOLE
// WHOLE: 'heddle.unfold' of several offsets is not tiled; heddle-lower-windows makes parts of it

!x = tensor<?x64xf32, #heddle.dims<"n">>
!u = tensor<?x128xf32, #heddle.dims<"n">>
!p = tensor<?xi32, #heddle.dims<"n">>
heddle.size @n max 64

// CHECK-LABEL: tile.func @matmul
// CHECK: %[[HERE:.*]] = tile.load %arg1[%{{.*}}, %{{.*}}] rows(%{{.*}}) : memref<?x1xi32>
// CHECK: %[[THERE:.*]] = tile.load %arg1[%[[ROW:.*]], %{{.*}}] rows(%{{.*}}) {clamped} : memref<?x1xi32>
// CHECK: %[[EXPECTED:.*]] = arith.addi %[[HERE]], %{{.*}}
// CHECK: %[[INSIDE:.*]] = arith.cmpi eq, %[[THERE]], %[[EXPECTED]]
// CHECK: scf.for
// CHECK: %[[X:.*]] = tile.load %arg0[%[[ROW]], %{{.*}}] rows(%{{.*}}) {any_padding, clamped}
// CHECK: %[[WIDE:.*]] = tile.broadcast %[[INSIDE]]
// CHECK: %[[LEFT:.*]] = arith.select %[[WIDE]], %[[X]], %{{.*}}
// CHECK: tile.dot %[[LEFT]]
// CHECK: scf.for
// CHECK-NOT: arith.select
// CHECK: tile.dot
func.func @product(%x: !x, %p: !p, %w: tensor<128x64xf32>) -> !x {
  %u = heddle.unfold %x at %p from -1 to 0 : !x, !p -> !u
  %y = heddle.matmul %u, %w : !u, tensor<128x64xf32> -> !x
  return %y : !x
}

// CHECK-LABEL: tile.func @join
// CHECK-COUNT-2: tile.store
func.func @made(%x: !x, %p: !p) -> !u {
  %u = heddle.unfold %x at %p from -1 to 0 : !x, !p -> !u
  return %u : !u
}
