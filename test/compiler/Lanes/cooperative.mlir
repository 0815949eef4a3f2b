// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-assign-layouts{target=vulkan:nvidia}))' | FileCheck %s --check-prefix=LAYOUT
// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-assign-layouts{target=vulkan:nvidia},heddle-lower-to-lanes,canonicalize,cse))' | FileCheck %s

// Operands and sums are cooperative matrices. Tiles that are loaded or stored are distributed row by row: 8 of the 128
// lanes share a row of the stored part of 32 columns, with four elements each.
// LAYOUT-LABEL: tile.func @product
// LAYOUT: arith.constant dense<0.000000e+00> : tensor<128x64xf32, #tile.cooperative<sum, side = 16, subgroups = 4>>
// LAYOUT: tile.load {{.*}} -> tensor<128x32xf16, #tile.cooperative<left, side = 16, subgroups = 4>>
// LAYOUT: tile.load {{.*}} -> tensor<64x32xf16, #tile.cooperative<right, side = 16, subgroups = 4>>
// LAYOUT: tile.columns {{.*}} -> tensor<128x32xf32, #tile.cooperative<sum, side = 16, subgroups = 4>>
// LAYOUT: tile.load {{.*}} -> tensor<128x32xf32, #tile.simt<lanes = [16, 8], strides = [8, 1], vector = 4>>
// LAYOUT: tile.load {{.*}} -> tensor<1x32xf32, #tile.simt<lanes = [16, 8], strides = [8, 1], vector = 4>>

// Sums are multiplied by each row's number, as a matrix of equal columns that is used again and again.
// LAYOUT-LABEL: tile.func @rescaled
// LAYOUT: tile.broadcast {{.*}} : tensor<64x1xf32, #tile.simt<lanes = [32, 4], strides = [4, 1], vector = 4>> -> tensor<64x16xf32, #tile.simt<lanes = [32, 4]
// LAYOUT: tile.load {{.*}} -> tensor<64x16xf32, #tile.cooperative<sum, side = 16, subgroups = 4>>
// LAYOUT: tile.broadcast {{.*}} -> tensor<64x32xf32, #tile.cooperative<sum, side = 16, subgroups = 4>>
// LAYOUT: arith.mulf {{.*}} : tensor<64x32xf32, #tile.cooperative<sum, side = 16, subgroups = 4>>

// Each of four subgroups has two times four matrices of the sum. Two times two of them lie in the stored part.
// CHECK-LABEL: tile.func @product
tile.func @product(%bias: memref<1x64xf32>, %c: memref<128x64xf32>)
    attributes {workgroup = 128 : i64, mapping = #tile.mapping<tensor>, vector = 4 : i64} {
  // CHECK: %[[ZERO:.*]] = gpu.subgroup_mma_constant_matrix %{{.*}} : !gpu.mma_matrix<16x16xf32, "COp">
  // CHECK: gpu.barrier
  // CHECK: %[[SUBGROUP:.*]] = gpu.subgroup_id : index
  // CHECK: %[[OWN:.*]] = arith.muli %[[SUBGROUP]], %c32
  // CHECK: %[[A:.*]] = gpu.subgroup_mma_load_matrix %[[LEFT:.*]][%[[OWN]], %c0] {leadDimension = 40 : index} : {{.*}} -> !gpu.mma_matrix<16x16xf16, "AOp">
  // CHECK: %[[SECOND:.*]] = arith.addi %[[OWN]], %c16
  // CHECK: gpu.subgroup_mma_load_matrix %[[LEFT]][%[[SECOND]], %c0]
  // The matrix in memory is oriented as its matmul needs it, so its tile is transposed. The first half of its columns
  // belongs to the other part.
  // other part.
  // CHECK: %[[B:.*]] = gpu.subgroup_mma_load_matrix %[[RIGHT:.*]][%c0, %c32] {leadDimension = 72 : index} : {{.*}} -> !gpu.mma_matrix<16x16xf16, "BOp">
  // CHECK: gpu.subgroup_mma_compute %[[A]], %[[B]], %[[ZERO]]
  // CHECK-COUNT-7: gpu.subgroup_mma_compute
  // CHECK-NOT: gpu.subgroup_mma_compute
  // CHECK: gpu.barrier
  // CHECK-COUNT-4: gpu.subgroup_mma_store_matrix {{.*}} {leadDimension = 36 : index}
  // CHECK: gpu.barrier
  // CHECK: vector.load
  // CHECK: vector.store
  %left = tile.shared : memref<128x32xf16, strided<[40, 1]>, #gpu.address_space<workgroup>>
  %right = tile.shared : memref<32x64xf16, strided<[72, 1]>, #gpu.address_space<workgroup>>
  %sums = tile.shared : memref<128x32xf32, strided<[36, 1]>, #gpu.address_space<workgroup>>
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  tile.wait 0
  %x = tile.load %left[%c0, %c0] {any_padding} : memref<128x32xf16, strided<[40, 1]>, #gpu.address_space<workgroup>> -> tensor<128x32xf16>
  %y = tile.load %right[%c0, %c0] {any_padding, transposed} : memref<32x64xf16, strided<[72, 1]>, #gpu.address_space<workgroup>> -> tensor<64x32xf16>
  %sum = tile.dot %x, %y, %zero {transpose_rhs} : tensor<128x32xf16>, tensor<64x32xf16> -> tensor<128x64xf32>
  %part = tile.columns %sum from 32 : tensor<128x64xf32> -> tensor<128x32xf32>
  tile.wait 0
  tile.store %part, %sums[%c0, %c0] : tensor<128x32xf32>, memref<128x32xf32, strided<[36, 1]>, #gpu.address_space<workgroup>>
  tile.wait 0
  %distributed = tile.load %sums[%c0, %c0] {any_padding} : memref<128x32xf32, strided<[36, 1]>, #gpu.address_space<workgroup>> -> tensor<128x32xf32>
  %row = tile.load %bias[%c0, %c32] : memref<1x64xf32> -> tensor<1x32xf32>
  %rows = tile.broadcast %row : tensor<1x32xf32> -> tensor<128x32xf32>
  %result = arith.addf %distributed, %rows : tensor<128x32xf32>
  tile.store %result, %c[%c0, %c32] : tensor<128x32xf32>, memref<128x64xf32>
  tile.return
}

// A row's maximum is computed by the four neighbouring lanes that share the row, in subgroups of 32. A lane has two
// rows.
// CHECK-LABEL: tile.func @rescaled
tile.func @rescaled()
    attributes {workgroup = 128 : i64, subgroup = 32 : i64, mapping = #tile.mapping<tensor>, vector = 4 : i64} {
  // CHECK: gpu.barrier
  // CHECK: gpu.shuffle xor %{{.*}}, %c1{{.*}}, %c32
  // CHECK: gpu.shuffle xor %{{.*}}, %c2{{.*}}, %c32
  // CHECK: gpu.shuffle xor %{{.*}}, %c1{{.*}}, %c32
  // CHECK: gpu.shuffle xor %{{.*}}, %c2{{.*}}, %c32
  // CHECK-NOT: gpu.shuffle
  // CHECK: vector.store
  // CHECK: gpu.barrier
  // CHECK: %[[FACTORS:.*]] = gpu.subgroup_mma_load_matrix {{.*}} -> !gpu.mma_matrix<16x16xf32, "COp">
  // CHECK: gpu.subgroup_mma_elementwise mulf %{{.*}}, %[[FACTORS]]
  // CHECK: gpu.subgroup_mma_elementwise mulf %{{.*}}, %[[FACTORS]]
  // CHECK-NOT: gpu.subgroup_mma_elementwise
  %scores = tile.shared : memref<64x32xf32, strided<[36, 1]>, #gpu.address_space<workgroup>>
  %left = tile.shared : memref<64x16xf16, strided<[24, 1]>, #gpu.address_space<workgroup>>
  %right = tile.shared : memref<32x16xf16, strided<[24, 1]>, #gpu.address_space<workgroup>>
  %operands = tile.shared : memref<64x16xf32, strided<[20, 1]>, #gpu.address_space<workgroup>>
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %c0 = arith.constant 0 : index
  %x = tile.load %left[%c0, %c0] {any_padding} : memref<64x16xf16, strided<[24, 1]>, #gpu.address_space<workgroup>> -> tensor<64x16xf16>
  %y = tile.load %right[%c0, %c0] {any_padding} : memref<32x16xf16, strided<[24, 1]>, #gpu.address_space<workgroup>> -> tensor<32x16xf16>
  %sum = tile.dot %x, %y, %zero {transpose_rhs} : tensor<64x16xf16>, tensor<32x16xf16> -> tensor<64x32xf32>
  tile.store %sum, %scores[%c0, %c0] : tensor<64x32xf32>, memref<64x32xf32, strided<[36, 1]>, #gpu.address_space<workgroup>>
  tile.wait 0
  %distributed = tile.load %scores[%c0, %c0] {any_padding} : memref<64x32xf32, strided<[36, 1]>, #gpu.address_space<workgroup>> -> tensor<64x32xf32>
  %largest = tile.reduce max %distributed dim 1 : tensor<64x32xf32> -> tensor<64x1xf32>
  %repeated = tile.broadcast %largest : tensor<64x1xf32> -> tensor<64x16xf32>
  tile.store %repeated, %operands[%c0, %c0] : tensor<64x16xf32>, memref<64x16xf32, strided<[20, 1]>, #gpu.address_space<workgroup>>
  tile.wait 0
  %alike = tile.load %operands[%c0, %c0] {any_padding} : memref<64x16xf32, strided<[20, 1]>, #gpu.address_space<workgroup>> -> tensor<64x16xf32>
  %all = tile.broadcast %alike : tensor<64x16xf32> -> tensor<64x32xf32>
  %product = arith.mulf %sum, %all : tensor<64x32xf32>
  tile.store %product, %scores[%c0, %c0] : tensor<64x32xf32>, memref<64x32xf32, strided<[36, 1]>, #gpu.address_space<workgroup>>
  tile.return
}
