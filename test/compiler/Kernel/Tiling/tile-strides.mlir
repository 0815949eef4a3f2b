// A kernel finds the pixel of each row of a tile by its number, and reads no row past the last one.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=vulkan:software})' | FileCheck %s

!x = tensor<?x8xf32, #heddle.dims<"n">>
!y = tensor<?x8xf32, #heddle.dims<"fewer">>
heddle.size @n max 72
heddle.size @fewer max 8

// CHECK-LABEL: tile.func @subsample
// CHECK: %[[ROW:.*]] = arith.divui
// CHECK: %[[COLUMN:.*]] = arith.remui
// CHECK: %[[LAST:.*]] = arith.subi
// CHECK: %[[THERE:.*]] = arith.minsi %{{.*}}, %[[LAST]]
// CHECK: %[[ROWS:.*]] = arith.maxsi %[[THERE]]
// CHECK: %[[X:.*]] = tile.gather %arg0[%[[ROWS]], %{{.*}}]
// CHECK: tile.store %[[X]]
func.func @taken(%x: !x) -> !y {
  %y = heddle.subsample %x width 6 stride 3 at (1, 2) : !x -> !y
  return %y : !y
}

// The other pixels are zero.
// CHECK-LABEL: tile.func @upsample
// CHECK: %[[IN_ROW:.*]] = arith.cmpi eq
// CHECK: %[[IN_COLUMN:.*]] = arith.cmpi eq
// CHECK: %[[IS_THERE:.*]] = arith.andi %[[IN_ROW]], %[[IN_COLUMN]]
// CHECK: %[[WIDE:.*]] = tile.broadcast %[[IS_THERE]]
// CHECK: %[[Y:.*]] = tile.gather
// CHECK: arith.select %[[WIDE]], %[[Y]]
func.func @mapping(%y: !y) -> !x {
  %x = heddle.upsample %y width 6 stride 3 at (1, 2) : !y -> !x
  return %x : !x
}
