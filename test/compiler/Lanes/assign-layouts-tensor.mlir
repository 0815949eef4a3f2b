// The kernel says that tensor cores multiply. The target decides the layouts of their tiles.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-assign-layouts{target=cuda:sm_80}))' | FileCheck %s --check-prefix=FRAGMENTS
// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-assign-layouts{target=vulkan:nvidia}))' | FileCheck %s --check-prefix=MATRICES

// The left side and the sums are distributed over all subgroups, and each subgroup has the whole right side. Values
// computed from the sums have their layout.
// FRAGMENTS-LABEL: tile.func @product
// FRAGMENTS-SAME: subgroup = 32
// FRAGMENTS: tile.load {{.*}} -> tensor<64x16xf16, #tile.fragment<subgroups = 4, rows = 8>>
// FRAGMENTS: tile.load {{.*}} -> tensor<64x16xf16, #tile.fragment<subgroups = 1, rows = 8>>
// FRAGMENTS-NOT: tile.convert_layout
// FRAGMENTS: math.exp %{{.*}} : tensor<64x64xf32, #tile.fragment<subgroups = 4, rows = 8>>

// Matrices are loaded from shared memory. Other operands are converted, and so are sums for all ops that lanes compute.
// MATRICES-LABEL: tile.func @product
// MATRICES-SAME: subgroup = 32
// MATRICES: %[[X:.*]] = tile.load {{.*}} -> tensor<64x16xf16, #tile.simt<
// MATRICES: %[[LEFT:.*]] = tile.convert_layout %[[X]] : {{.*}} -> tensor<64x16xf16, #tile.cooperative<left, side = 16, subgroups = 4>>
// MATRICES: %[[Y:.*]] = tile.load {{.*}} -> tensor<64x16xf16, #tile.simt<
// MATRICES: %[[RIGHT:.*]] = tile.convert_layout %[[Y]] : {{.*}} -> tensor<64x16xf16, #tile.cooperative<right, side = 16, subgroups = 4>>
// MATRICES: %[[SUMS:.*]] = tile.dot %[[LEFT]], %[[RIGHT]]
// MATRICES: %[[DEALT:.*]] = tile.convert_layout %[[SUMS]] : tensor<64x64xf32, #tile.cooperative<sum, side = 16, subgroups = 4>> -> tensor<64x64xf32, #tile.simt<
// MATRICES: math.exp %[[DEALT]]
tile.func @product(%x: memref<?x64xf16>, %y: memref<?x64xf32>) attributes {workgroup = 128 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %c0 = arith.constant 0 : index
  %lhs = tile.load %x[%c0, %c0] : memref<?x64xf16> -> tensor<64x16xf16>
  %rhs = tile.load %x[%c0, %c0] {transposed} : memref<?x64xf16> -> tensor<64x16xf16>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %p = tile.dot %lhs, %rhs, %zero {transpose_rhs} : tensor<64x16xf16>, tensor<64x16xf16> -> tensor<64x64xf32>
  %e = math.exp %p : tensor<64x64xf32>
  tile.store %e, %y[%c0, %c0] : tensor<64x64xf32>, memref<?x64xf32>
  tile.return
}

// A row for each subgroup, whose sums its lanes have.
// FRAGMENTS-LABEL: tile.func @sums
// FRAGMENTS: tile.reduce sum %{{.*}} dim 0 : tensor<64x64xf32, #tile.fragment<subgroups = 4, rows = 8>> -> tensor<4x64xf32, #tile.simt<lanes = [4, 4], strides = [32, 1], vector = 2>>
tile.func @sums(%x: memref<?x64xf32>, %y: memref<?x64xf32>) attributes {workgroup = 128 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0, %c0] : memref<?x64xf32> -> tensor<64x64xf32>
  %s = tile.reduce sum %t dim 0 : tensor<64x64xf32> -> tensor<4x64xf32>
  tile.store %s, %y[%c0, %c0] : tensor<4x64xf32>, memref<?x64xf32>
  tile.return
}
