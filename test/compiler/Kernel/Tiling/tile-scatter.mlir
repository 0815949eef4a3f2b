// Sums of rows with equal indices. On a device that runs many workgroups at once, a workgroup has some of the indices
// (here a 512th), so that loads of many rows are in flight, and reads eight indices at once.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=vulkan:software})' | FileCheck %s --check-prefixes=CHECK,SOFTWARE
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=cuda:sm_80})' | FileCheck %s --check-prefixes=CHECK,CUDA

!indices = tensor<?xi32, #heddle.dims<"tokens">>
!rows = tensor<?x256xf32, #heddle.dims<"tokens">>
heddle.size @tokens max 2048

// CHECK-LABEL: func.func @gradient(
// SOFTWARE: tile.launch @sum_equal_Tx256({{.*}}) grid [#tile.grid<"", 1, 8>, #tile.grid<"", 1, 1>, #tile.grid<"", 1, 1>]
// CUDA: tile.launch @sum_equal_Tx256({{.*}}) grid [#tile.grid<"", 1, 2>, #tile.grid<"", 1, 512>, #tile.grid<"", 1, 1>]
func.func @gradient(%i: !indices, %x: !rows) -> tensor<100x256xf32> {
  %first = heddle.find_first %i : !indices -> tensor<100x1xi32>
  %sums = heddle.sum_equal %i, %first, %x : !indices, tensor<100x1xi32>, !rows
  %dense = heddle.densify %first, %sums : tensor<100x1xi32>, !rows -> tensor<100x256xf32>
  return %dense : tensor<100x256xf32>
}

// A lane has a number and loops over all indices.
// CHECK-LABEL: tile.func @find_first_100x1(
// CHECK-SAME: %[[I:.*]]: memref<?x1xi32>, %[[TO:.*]]: memref<100x1xi32>, %[[N:.*]]: index)
// CHECK-DAG: %[[NUMBER:.*]] = tile.index %{{.*}} dim 0
// CHECK-DAG: %[[NOWHERE:.*]] = arith.constant dense<-1>
// CHECK: %[[FIRST:.*]] = scf.for %[[T:.*]] = %c0{{.*}} to %[[N]] step %c1{{.*}} iter_args(%[[FOUND:.*]] = %[[NOWHERE]])
// CHECK: memref.load %[[I]][%[[T]], %c0{{.*}}]
// CHECK: %[[IS:.*]] = arith.cmpi eq, %{{.*}}, %[[NUMBER]]
// CHECK: %[[NEW:.*]] = arith.cmpi eq, %[[FOUND]], %[[NOWHERE]]
// CHECK: %[[BOTH:.*]] = arith.andi %[[IS]], %[[NEW]]
// CHECK: %[[NEXT:.*]] = arith.select %[[BOTH]], %{{.*}}, %[[FOUND]]
// CHECK: scf.yield %[[NEXT]]
// CHECK: tile.store %[[FIRST]], %[[TO]]

// A place of the sums becomes zero first. Then each row is added at the first row with the same index.
// CHECK-LABEL: tile.func @sum_equal_Tx256(
// CHECK-SAME: %[[I:.*]]: memref<?x1xi32>, %[[FIRST:.*]]: memref<100x1xi32>, %[[ROWS:.*]]: memref<?x256xf32>, %[[SUMS:.*]]: memref<?x256xf32>, %[[N:.*]]: index)
// SOFTWARE: scf.for %[[T:.*]] = %c0{{.*}} to %[[N]] step %c1
// SOFTWARE: %[[WORD:.*]] = memref.load %[[I]][%[[T]], %c0{{.*}}]
// SOFTWARE: %[[INDEX:.*]] = arith.index_castui %[[WORD]]
// CUDA: %[[LAST:.*]] = arith.subi %[[N]], %c1
// CUDA: scf.for %[[T:.*]] = %c0{{.*}} to %[[N]] step %c8
// CUDA: %[[HERE:.*]] = arith.minui %[[T]], %[[LAST]]
// CUDA: %[[WORD:.*]] = memref.load %[[I]][%[[HERE]], %c0{{.*}}]
// CUDA: %[[INDEX:.*]] = arith.index_castui %[[WORD]]
// CUDA-COUNT-7: memref.load %[[I]]
// CUDA: %[[PART:.*]] = arith.remui %[[INDEX]], %c512
// CUDA: %[[OWN:.*]] = arith.cmpi eq, %[[PART]], %block_id_y
// CUDA: %[[THERE:.*]] = arith.cmpi ult, %[[T]], %[[N]]
// CUDA: %[[BOTH:.*]] = arith.andi %[[OWN]], %[[THERE]]
// CUDA: scf.if %[[BOTH]]
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00>
// CHECK: tile.store %[[ZERO]], %[[SUMS]][%[[T]], %[[C:.*]]]
// CHECK: memref.load %[[FIRST]][%[[INDEX]], %c0{{.*}}]
// CHECK: %[[TO:.*]] = arith.index_castui
// CHECK-DAG: %[[ROW:.*]] = tile.load %[[ROWS]][%[[T]], %[[C]]]
// CHECK-DAG: %[[SUM:.*]] = tile.load %[[SUMS]][%[[TO]], %[[C]]]
// CHECK: %[[NEW:.*]] = arith.addf %[[SUM]], %[[ROW]]
// CHECK: tile.store %[[NEW]], %[[SUMS]][%[[TO]], %[[C]]]

// CHECK-LABEL: tile.func @densify_100x256(
// CHECK-SAME: %[[PLACES:.*]]: memref<100x1xi32>, %[[SUMS:.*]]: memref<?x256xf32>, %[[DENSE:.*]]: memref<100x256xf32>)
// CHECK: %[[PLACE:.*]] = tile.load %[[PLACES]]
// CHECK: %[[THERE:.*]] = arith.cmpi sge, %[[PLACE]]
// CHECK: %[[ROW:.*]] = arith.maxsi %[[PLACE]]
// CHECK: %[[SUM:.*]] = tile.gather %[[SUMS]][%[[ROW]], %{{.*}}]
// CHECK: %[[WIDE:.*]] = tile.broadcast %[[THERE]]
// CHECK: %[[ELEMENT:.*]] = arith.select %[[WIDE]], %[[SUM]]
// CHECK: tile.store %[[ELEMENT]], %[[DENSE]]
