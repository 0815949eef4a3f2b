// RUN: heddle-opt %s --heddle-lower-to-spirv | FileCheck %s

// Shared memory is an array of vectors of four. An access to four elements is one vector; fewer elements are accessed
// one by one. Barriers make writes visible, and accesses are marked as non-private.
// CHECK-LABEL: spirv.module @product PhysicalStorageBuffer64 Vulkan
// CHECK-SAME: #spirv.vce<v1.6, [{{.*}}Float16, StorageBuffer16BitAccess, RoundingModeRTE, CooperativeMatrixKHR, GroupNonUniform], [SPV_KHR_cooperative_matrix]>
// CHECK-DAG: spirv.GlobalVariable @shared_0 : !spirv.ptr<!spirv.array<320 x vector<4xf16>>, Workgroup>
// CHECK-DAG: spirv.GlobalVariable @shared_1 : !spirv.ptr<!spirv.array<576 x vector<4xf32>>, Workgroup>
// CHECK-DAG: built_in("SubgroupId")
tile.func @product(%a: memref<?x32xf16>, %c: memref<64x32xf32>)
    attributes {workgroup = 128 : i64, mapping = #tile.mapping<tensor>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %left = tile.shared : memref<32x32xf16, strided<[40, 1]>, #gpu.address_space<workgroup>>
  %sums = tile.shared : memref<64x32xf32, strided<[36, 1]>, #gpu.address_space<workgroup>>
  %lane = gpu.thread_id x
  // CHECK: spirv.Load "PhysicalStorageBuffer" %{{.*}} ["Aligned", 8] : vector<4xf16>
  %x = vector.load %a[%lane, %c0] : memref<?x32xf16>, vector<4xf16>
  // CHECK: %[[PLACE:.*]] = spirv.AccessChain %{{.*}}[%{{.*}}] : !spirv.ptr<!spirv.array<320 x vector<4xf16>>, Workgroup>
  // CHECK: spirv.Store "Workgroup" %[[PLACE]], %{{.*}} ["NonPrivatePointer"] : vector<4xf16>
  vector.store %x, %left[%lane, %c0] : memref<32x32xf16, strided<[40, 1]>, #gpu.address_space<workgroup>>, vector<4xf16>
  // CHECK: spirv.Load "PhysicalStorageBuffer" %{{.*}} ["Aligned", 2] : f16
  %y = memref.load %a[%lane, %c2] : memref<?x32xf16>
  // CHECK: spirv.AccessChain %{{.*}}[%{{.*}}, %{{.*}}] : !spirv.ptr<!spirv.array<320 x vector<4xf16>>, Workgroup>
  // CHECK: spirv.Store "Workgroup" %{{.*}}, %{{.*}} ["NonPrivatePointer"] : f16
  memref.store %y, %left[%lane, %c2] : memref<32x32xf16, strided<[40, 1]>, #gpu.address_space<workgroup>>
  // CHECK: spirv.ControlBarrier <Workgroup>, <Workgroup>, <AcquireRelease|WorkgroupMemory|MakeAvailable|MakeVisible>
  gpu.barrier
  %subgroup = gpu.subgroup_id : index
  %row = arith.muli %subgroup, %c16 : index
  %zero = arith.constant 0.0 : f32
  %sum = gpu.subgroup_mma_constant_matrix %zero : !gpu.mma_matrix<16x16xf32, "COp">
  // Rows begin ten vectors after each other.
  // CHECK: %[[TEN:.*]] = spirv.Constant 10 : i32
  // CHECK: spirv.KHR.CooperativeMatrixLoad %{{.*}}, %[[TEN]], <RowMajor>, <NonPrivatePointer> : {{.*}} -> !spirv.coopmatrix<16x16xf16, Subgroup, MatrixA>
  %l = gpu.subgroup_mma_load_matrix %left[%c0, %c0] {leadDimension = 40 : index} : memref<32x32xf16, strided<[40, 1]>, #gpu.address_space<workgroup>> -> !gpu.mma_matrix<16x16xf16, "AOp">
  // CHECK: spirv.KHR.CooperativeMatrixLoad %{{.*}}, %{{.*}}, <ColumnMajor>, <NonPrivatePointer> : {{.*}} -> !spirv.coopmatrix<16x16xf16, Subgroup, MatrixB>
  %r = gpu.subgroup_mma_load_matrix %left[%c0, %c16] {leadDimension = 40 : index, transpose} : memref<32x32xf16, strided<[40, 1]>, #gpu.address_space<workgroup>> -> !gpu.mma_matrix<16x16xf16, "BOp">
  // CHECK: spirv.KHR.CooperativeMatrixMulAdd
  %p = gpu.subgroup_mma_compute %l, %r, %sum : !gpu.mma_matrix<16x16xf16, "AOp">, !gpu.mma_matrix<16x16xf16, "BOp"> -> !gpu.mma_matrix<16x16xf32, "COp">
  // CHECK: spirv.FMul %{{.*}}, %{{.*}} : !spirv.coopmatrix<16x16xf32, Subgroup, MatrixAcc>
  %q = gpu.subgroup_mma_elementwise mulf %p, %p : (!gpu.mma_matrix<16x16xf32, "COp">, !gpu.mma_matrix<16x16xf32, "COp">) -> !gpu.mma_matrix<16x16xf32, "COp">
  // CHECK: spirv.KHR.CooperativeMatrixStore %{{.*}}, %{{.*}}, %{{.*}}, <RowMajor>, <NonPrivatePointer>
  gpu.subgroup_mma_store_matrix %q, %sums[%row, %c0] {leadDimension = 36 : index} : !gpu.mma_matrix<16x16xf32, "COp">, memref<64x32xf32, strided<[36, 1]>, #gpu.address_space<workgroup>>
  gpu.barrier
  // CHECK: spirv.Load "Workgroup" %{{.*}} ["NonPrivatePointer"] : vector<4xf32>
  %z = vector.load %sums[%lane, %c0] : memref<64x32xf32, strided<[36, 1]>, #gpu.address_space<workgroup>>, vector<4xf32>
  vector.store %z, %c[%lane, %c0] : memref<64x32xf32>, vector<4xf32>
  tile.return
}
// Conversions to f16 round to nearest, which Vulkan does not promise unless a kernel asks for it.
// CHECK: spirv.ExecutionMode @main "RoundingModeRTE", 16
