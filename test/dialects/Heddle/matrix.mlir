// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s

!matrix = tensor<?x8xf32, #heddle.dims<"tokens">>
!heads = tensor<?x2x4xf32, #heddle.dims<"tokens">>
!column = tensor<?xf32, #heddle.dims<"tokens">>
!indices = tensor<?xi32, #heddle.dims<"tokens">>

// CHECK-LABEL: func.func @project
func.func @project(%x: !matrix, %w: tensor<16x4xf32>, %b: tensor<8xf32>) {
  // CHECK: %[[Y:.*]]:2 = heddle.project %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x8xf32, #heddle.dims<"tokens">>, tensor<16x4xf32>, tensor<8xf32> -> tensor<?x4xf32, #heddle.dims<"tokens">>, tensor<?x4xf32, #heddle.dims<"tokens">>
  %y:2 = heddle.project %x, %w, %b : !matrix, tensor<16x4xf32>, tensor<8xf32> -> tensor<?x4xf32, #heddle.dims<"tokens">>, tensor<?x4xf32, #heddle.dims<"tokens">>
  // CHECK: heddle.project_grad_input %{{.*}}, %[[Y]]#0, %[[Y]]#1 : tensor<16x4xf32>, tensor<?x4xf32, #heddle.dims<"tokens">>, tensor<?x4xf32, #heddle.dims<"tokens">> -> tensor<?x8xf32, #heddle.dims<"tokens">>
  %0 = heddle.project_grad_input %w, %y#0, %y#1 : tensor<16x4xf32>, tensor<?x4xf32, #heddle.dims<"tokens">>, tensor<?x4xf32, #heddle.dims<"tokens">> -> !matrix
  // CHECK: heddle.project_grad_weights %{{.*}}, %[[Y]]#0, %[[Y]]#1 : tensor<?x8xf32, #heddle.dims<"tokens">>, tensor<?x4xf32, #heddle.dims<"tokens">>, tensor<?x4xf32, #heddle.dims<"tokens">> -> tensor<16x4xf32>, tensor<8xf32>
  %dw, %db = heddle.project_grad_weights %x, %y#0, %y#1 : !matrix, tensor<?x4xf32, #heddle.dims<"tokens">>, tensor<?x4xf32, #heddle.dims<"tokens">> -> tensor<16x4xf32>, tensor<8xf32>
  return
}

// CHECK-LABEL: func.func @matmul
func.func @matmul(%x: !matrix, %w: tensor<8x4xf32>, %v: tensor<4x8xf32>) {
  // CHECK: heddle.matmul %{{.*}}, %{{.*}} : tensor<?x8xf32, #heddle.dims<"tokens">>, tensor<8x4xf32> -> tensor<?x4xf32, #heddle.dims<"tokens">>
  %0 = heddle.matmul %x, %w : !matrix, tensor<8x4xf32> -> tensor<?x4xf32, #heddle.dims<"tokens">>
  // CHECK: heddle.matmul %{{.*}}, %{{.*}} {transpose_rhs} :
  %1 = heddle.matmul %x, %v {transpose_rhs} : !matrix, tensor<4x8xf32> -> tensor<?x4xf32, #heddle.dims<"tokens">>
  // CHECK: heddle.matmul %{{.*}}, %{{.*}} {transpose_lhs} : {{.*}} -> tensor<8x8xf32>
  %2 = heddle.matmul %x, %x {transpose_lhs} : !matrix, !matrix -> tensor<8x8xf32>
  return
}

// CHECK-LABEL: func.func @sum
func.func @sum(%x: !matrix, %column: !column, %row: tensor<8xf32>) {
  // CHECK: heddle.sum rows %{{.*}} : tensor<?x8xf32, #heddle.dims<"tokens">> -> tensor<8xf32>
  %0 = heddle.sum rows %x : !matrix -> tensor<8xf32>
  // CHECK: heddle.sum columns %{{.*}} : tensor<?x8xf32, #heddle.dims<"tokens">> -> tensor<?xf32, #heddle.dims<"tokens">>
  %1 = heddle.sum columns %x : !matrix -> !column
  // CHECK: heddle.sum rows %{{.*}} : tensor<?xf32, #heddle.dims<"tokens">> -> tensor<1xf32>
  %2 = heddle.sum rows %column : !column -> tensor<1xf32>
  // CHECK: heddle.sum columns %{{.*}} : tensor<8xf32> -> tensor<1xf32>
  %3 = heddle.sum columns %row : tensor<8xf32> -> tensor<1xf32>
  return
}

// CHECK-LABEL: func.func @sum_of_parts
func.func @sum_of_parts(%x: !heads) {
  // CHECK: heddle.sum columns %{{.*}} : tensor<?x2x4xf32, #heddle.dims<"tokens">> -> tensor<?xf32, #heddle.dims<"tokens">>
  %0 = heddle.sum columns %x : !heads -> !column
  // CHECK: heddle.sum columns %{{.*}} : tensor<?x2x4xf32, #heddle.dims<"tokens">> -> tensor<?x2xf32, #heddle.dims<"tokens">>
  %1 = heddle.sum columns %x : !heads -> tensor<?x2xf32, #heddle.dims<"tokens">>
  // CHECK: heddle.sum rows %{{.*}} : tensor<?x2x4xf32, #heddle.dims<"tokens">> -> tensor<8xf32>
  %2 = heddle.sum rows %x : !heads -> tensor<8xf32>
  // CHECK: heddle.partial_sums %{{.*}} : tensor<?x2x4xf32, #heddle.dims<"tokens">> -> tensor<16x8xf32>
  %3 = heddle.partial_sums %x : !heads -> tensor<16x8xf32>
  return
}

// CHECK-LABEL: func.func @layer_norm
func.func @layer_norm(%x: !matrix, %g: tensor<8xf32>) -> !matrix {
  // CHECK: %[[Y:.*]], %[[MEAN:.*]], %[[RSTD:.*]] = heddle.layer_norm %[[X:.*]], %[[G:.*]], %[[G]] {epsilon = 9.99999997E-7 : f32} : tensor<?x8xf32, #heddle.dims<"tokens">>, tensor<8xf32>, tensor<8xf32> -> tensor<?xf32, #heddle.dims<"tokens">>
  %y, %mean, %rstd = heddle.layer_norm %x, %g, %g {epsilon = 1.0e-6 : f32} : !matrix, tensor<8xf32>, tensor<8xf32> -> !column
  // CHECK: heddle.layer_norm_grad %[[Y]], %[[X]], %[[G]], %[[MEAN]], %[[RSTD]] : tensor<?x8xf32, #heddle.dims<"tokens">>, tensor<8xf32>, tensor<?xf32, #heddle.dims<"tokens">>
  %d = heddle.layer_norm_grad %y, %x, %g, %mean, %rstd : !matrix, tensor<8xf32>, !column
  // CHECK: heddle.layer_norm_apply %[[X]], %[[G]], %[[G]], %[[MEAN]], %[[RSTD]] : tensor<?x8xf32, #heddle.dims<"tokens">>, tensor<8xf32>, tensor<?xf32, #heddle.dims<"tokens">>
  %again = heddle.layer_norm_apply %x, %g, %g, %mean, %rstd : !matrix, tensor<8xf32>, !column
  return %d : !matrix
}

// CHECK-LABEL: func.func @cross_entropy
func.func @cross_entropy(%x: !matrix, %t: !indices) -> (!matrix, !indices) {
  // CHECK: %[[LOSS:.*]], %[[LSE:.*]] = heddle.cross_entropy %[[X:.*]], %[[T:.*]] {smoothing = 1.000000e-01 : f32} : tensor<?x8xf32, #heddle.dims<"tokens">>, tensor<?xi32, #heddle.dims<"tokens">> -> tensor<?xf32, #heddle.dims<"tokens">>
  %loss, %lse = heddle.cross_entropy %x, %t {smoothing = 0.1 : f32} : !matrix, !indices -> !column
  // CHECK: heddle.cross_entropy_grad %[[X]], %[[T]], %[[LSE]], %[[LOSS]] {smoothing = 1.000000e-01 : f32} : tensor<?x8xf32, #heddle.dims<"tokens">>, tensor<?xi32, #heddle.dims<"tokens">>, tensor<?xf32, #heddle.dims<"tokens">>
  %d = heddle.cross_entropy_grad %x, %t, %lse, %loss {smoothing = 0.1 : f32} : !matrix, !indices, !column
  // CHECK: heddle.argmax %[[X]] : tensor<?x8xf32, #heddle.dims<"tokens">> -> tensor<?xi32, #heddle.dims<"tokens">>
  %a = heddle.argmax %x : !matrix -> !indices
  return %d, %a : !matrix, !indices
}

!segments = tensor<?xi32, #heddle.dims<"groups">>
!best = tensor<?x4xf32, #heddle.dims<"groups">>
!places = tensor<?x4xi32, #heddle.dims<"groups">>

// CHECK-LABEL: func.func @top_k
func.func @top_k(%x: !matrix, %starts: !segments, %lengths: !segments) -> (!best, !places, !places) {
  // CHECK: %[[BEST:.*]], %[[ROWS:.*]], %[[COLUMNS:.*]] = heddle.top_k %{{.*}} segments(%{{.*}}, %{{.*}}) {row_size = "beam"} : tensor<?x8xf32, #heddle.dims<"tokens">>, tensor<?xi32, #heddle.dims<"groups">> -> tensor<?x4xf32, #heddle.dims<"groups">>, tensor<?x4xi32, #heddle.dims<"groups">>
  %best, %rows, %columns = heddle.top_k %x segments(%starts, %lengths) {row_size = "beam"} : !matrix, !segments -> !best, !places
  // CHECK: return %[[BEST]], %[[ROWS]], %[[COLUMNS]]
  return %best, %rows, %columns : !best, !places, !places
}

// CHECK-LABEL: func.func @scatter
func.func @scatter(%table: tensor<32x8xf32>, %i: !indices, %rows: !matrix, %numbers: tensor<32x3xi32>,
                   %new: tensor<?x3xi32, #heddle.dims<"tokens">>) {
  // CHECK: heddle.scatter_add %[[TABLE:.*]], %[[I:.*]], %[[ROWS:.*]] : tensor<32x8xf32>, tensor<?xi32, #heddle.dims<"tokens">>, tensor<?x8xf32, #heddle.dims<"tokens">>
  %0 = heddle.scatter_add %table, %i, %rows : tensor<32x8xf32>, !indices, !matrix
  // CHECK: heddle.scatter_rows %[[TABLE]], %[[I]], %[[ROWS]] : tensor<32x8xf32>, tensor<?xi32, #heddle.dims<"tokens">>, tensor<?x8xf32, #heddle.dims<"tokens">>
  %1 = heddle.scatter_rows %table, %i, %rows : tensor<32x8xf32>, !indices, !matrix
  // CHECK: heddle.scatter_rows %{{.*}}, %[[I]], %{{.*}} : tensor<32x3xi32>, tensor<?xi32, #heddle.dims<"tokens">>, tensor<?x3xi32, #heddle.dims<"tokens">>
  %2 = heddle.scatter_rows %numbers, %i, %new : tensor<32x3xi32>, !indices, tensor<?x3xi32, #heddle.dims<"tokens">>
  return
}

// CHECK-LABEL: func.func @sum_equal
func.func @sum_equal(%i: !indices, %rows: !matrix) -> !matrix {
  // CHECK: %[[FIRST:.*]] = heddle.find_first %[[I:.*]] : tensor<?xi32, #heddle.dims<"tokens">> -> tensor<32x1xi32>
  %first = heddle.find_first %i : !indices -> tensor<32x1xi32>
  // CHECK: heddle.sum_equal %[[I]], %[[FIRST]], %{{.*}} : tensor<?xi32, #heddle.dims<"tokens">>, tensor<32x1xi32>, tensor<?x8xf32, #heddle.dims<"tokens">>
  %0 = heddle.sum_equal %i, %first, %rows : !indices, tensor<32x1xi32>, !matrix
  return %0 : !matrix
}

// CHECK-LABEL: func.func @partial_sums
func.func @partial_sums(%x: !matrix, %column: tensor<?xf32, #heddle.dims<"tokens">>) {
  // CHECK: heddle.partial_sums %{{.*}} : tensor<?x8xf32, #heddle.dims<"tokens">> -> tensor<64x8xf32>
  %0 = heddle.partial_sums %x : !matrix -> tensor<64x8xf32>
  // CHECK: heddle.partial_sums %{{.*}} : tensor<?xf32, #heddle.dims<"tokens">> -> tensor<64x1xf32>
  %1 = heddle.partial_sums %column : tensor<?xf32, #heddle.dims<"tokens">> -> tensor<64x1xf32>
  return
}
