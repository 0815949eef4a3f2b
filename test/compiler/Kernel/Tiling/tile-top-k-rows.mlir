// Segments without a longest length have one row each.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile)' | FileCheck %s

!x = tensor<?x8xf32, #heddle.dims<"n">>
!segments = tensor<?xi32, #heddle.dims<"n">>
heddle.size @n max 64
// CHECK: tile.func @top_k
func.func @largest(%x: !x, %s: !segments) -> tensor<?x2xf32, #heddle.dims<"n">> {
  %v, %r, %c = heddle.top_k %x segments(%s, %s) {row_size = ""} : !x, !segments -> tensor<?x2xf32, #heddle.dims<"n">>, tensor<?x2xi32, #heddle.dims<"n">>
  return %v : tensor<?x2xf32, #heddle.dims<"n">>
}
