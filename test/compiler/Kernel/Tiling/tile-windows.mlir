// The existence of rows is checked before the K loop. Rows before the first one are read as the first one.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-lower-windows,heddle-fuse-kernels),heddle-tile{target=vulkan:software})' | FileCheck %s --check-prefixes=CHECK
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-lower-windows,heddle-fuse-kernels),heddle-tile{target=vulkan:software})' | FileCheck %s --check-prefix=FAR
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

// The distance of distant rows is a number of the launch, so that one kernel serves all distances.
// FAR-LABEL: func.func @far
// FAR: tile.launch @matmul_Tx64(
// FAR-SAME: "number_17"
// FAR: tile.launch @matmul_Tx64(
// FAR-SAME: "number_40"
// FAR-LABEL: tile.func @matmul_Tx64(
// FAR-SAME: %[[NUMBER:[^ ]*]]: index) attributes
// FAR: %[[DISTANCE:.*]] = arith.index_cast %[[NUMBER]] : index to i32
// FAR: tile.splat %[[DISTANCE]]
// FAR-NOT: tile.func @matmul_Tx64
func.func @far(%x: !x, %p: !p, %w: tensor<64x64xf32>) -> (!x, !x) {
  %u = heddle.unfold %x at %p from 17 to 17 : !x, !p -> !x
  %y = heddle.matmul %u, %w : !x, tensor<64x64xf32> -> !x
  %v = heddle.unfold %x at %p from 40 to 40 : !x, !p -> !x
  %z = heddle.matmul %v, %w : !x, tensor<64x64xf32> -> !x
  return %y, %z : !x, !x
}
