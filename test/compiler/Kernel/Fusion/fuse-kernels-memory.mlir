// Which values must be in memory, which need not, and how many addresses a kernel may have.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels))' | FileCheck %s

!x = tensor<?x8xf32, #heddle.dims<"tokens">>
!truth = tensor<?x8xi1, #heddle.dims<"tokens">>
!indices = tensor<?xi32, #heddle.dims<"tokens">>

// Only the kernel itself compares the matmul's result, so it is never written.
// CHECK-LABEL: func.func @compared_inside
// CHECK-NEXT: %[[K:.*]] = heddle.kernel "matmul_mulf_select"(%arg0, %arg1 : {{.*}}) -> tensor<?x8xf32, #heddle.dims<"tokens">> {
// CHECK: heddle.yield %{{[0-9]+}} : tensor<?x8xf32
// CHECK: return %[[K]]
func.func @compared_inside(%x: !x, %w: tensor<8x8xf32>) -> !x {
  %p = heddle.matmul %x, %w : !x, tensor<8x8xf32> -> !x
  %zero = heddle.fill 0.0 : f32 : !x
  %positive = arith.cmpf ogt, %p, %zero : !x
  %square = arith.mulf %p, %p : !x
  %r = arith.select %positive, %square, %zero : !truth, !x
  return %r : !x
}

// CHECK-LABEL: func.func @constant_seed
// CHECK-NEXT: %[[SEED:.*]] = heddle.kernel "fill"() -> tensor<2xi32> {
// CHECK: heddle.kernel "dropout"(%arg0, %[[SEED]], %arg1 :
func.func @constant_seed(%x: !x, %step: tensor<1xi32>) -> !x {
  %seed = heddle.fill 3 : i32 : tensor<2xi32>
  %d = heddle.dropout %x seed %seed step %step {rate = 0.1 : f32, stream = 7 : i32} : !x
  return %d : !x
}

// A gather reads the whole table, even if the table has the result's extents.
// CHECK-LABEL: func.func @computed_table
// CHECK-NEXT: %[[E:.*]] = heddle.kernel "exp"(%arg0 :
// CHECK: heddle.kernel "embedding"(%arg1, %[[E]] :
func.func @computed_table(%x: !x, %i: !indices) -> !x {
  %e = math.exp %x : !x
  %d = heddle.embedding %i, %e : !indices, !x -> !x
  return %d : !x
}

// A prologue ends at the op with which the kernel would need more addresses than targets can pass.
// CHECK-LABEL: func.func @long_prologue
// CHECK-NEXT: %[[K:.*]] = heddle.kernel "fma_fma_fma"(%arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6 :
// CHECK: heddle.kernel "sum_fma_fma_fma"(%arg7, %arg8, %[[K]], %arg9, %arg10, %arg11, %arg12, %arg13, %arg14, %arg15, %arg16, %arg17, %arg18 :
func.func @long_prologue(%0: !x, %1: !x, %2: !x, %3: !x, %4: !x, %5: !x, %6: !x, %7: !x, %8: !x, %9: !x, %10: !x,
                         %11: !x, %12: !x, %13: !x, %14: !x, %15: !x, %16: !x, %17: !x, %18: !x) -> tensor<8xf32> {
  %s0 = math.fma %0, %1, %2 : !x
  %s1 = math.fma %3, %4, %s0 : !x
  %s2 = math.fma %5, %6, %s1 : !x
  %s3 = math.fma %7, %8, %s2 : !x
  %s4 = math.fma %9, %10, %s3 : !x
  %s5 = math.fma %11, %12, %s4 : !x
  %s6 = math.fma %13, %14, %s5 : !x
  %s7 = math.fma %15, %16, %s6 : !x
  %s8 = math.fma %17, %18, %s7 : !x
  %s = heddle.sum rows %s8 : !x -> tensor<8xf32>
  return %s : tensor<8xf32>
}

// Rows that are computed from other rows of the destination: a workgroup might read rows that another one has replaced.
// CHECK-LABEL: func.func @own_rows
// CHECK: %[[ROWS:.*]] = heddle.kernel "embedding_addf"(%arg0, %arg1 :
// CHECK: heddle.kernel "scatter_rows"(%arg1, %arg0, %[[ROWS]] :
func.func @own_rows(%i: !indices, %t: tensor<64x8xf32>) -> tensor<64x8xf32> {
  %rows = heddle.embedding %i, %t : !indices, tensor<64x8xf32> -> !x
  %twice = arith.addf %rows, %rows : !x
  %new = heddle.scatter_rows %t, %i, %twice : tensor<64x8xf32>, !indices, !x
  return %new : tensor<64x8xf32>
}

// CHECK-LABEL: func.func @other_rows
// CHECK: heddle.kernel "embedding_addf_scatter_rows"(%arg0, %arg1, %arg2 :
func.func @other_rows(%i: !indices, %t: tensor<64x8xf32>, %to: tensor<64x8xf32>) -> tensor<64x8xf32> {
  %rows = heddle.embedding %i, %t : !indices, tensor<64x8xf32> -> !x
  %twice = arith.addf %rows, %rows : !x
  %new = heddle.scatter_rows %to, %i, %twice : tensor<64x8xf32>, !indices, !x
  return %new : tensor<64x8xf32>
}
