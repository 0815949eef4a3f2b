// The gradient rules of the heddle ops, with one function for each rule. `accumulate` shows a gradient with as few ops
// around it as possible.
// RUN: heddle-opt %s --heddle-differentiate | FileCheck %s

!x = tensor<?x8xf32, #heddle.dims<"tokens">>
!y = tensor<?x4xf32, #heddle.dims<"tokens">>
!column = tensor<?xf32, #heddle.dims<"tokens">>
!indices = tensor<?xi32, #heddle.dims<"tokens">>

heddle.variable @w weight : tensor<8x4xf32>
heddle.variable @grad.w gradient of @w as gradient : tensor<8x4xf32>
heddle.variable @t weight : tensor<4x8xf32>
heddle.variable @grad.t gradient of @t as gradient : tensor<4x8xf32>
heddle.variable @row weight : tensor<8xf32>
heddle.variable @grad.row gradient of @row as gradient : tensor<8xf32>
heddle.variable @beta weight : tensor<8xf32>
heddle.variable @grad.beta gradient of @beta as gradient : tensor<8xf32>
heddle.variable @scalar weight : tensor<1xf32>
heddle.variable @grad.scalar gradient of @scalar as gradient : tensor<1xf32>

// Y = X W: dX = dY W^T, dW = X^T dY. The gradient of the input is unused here, so it is erased.
// CHECK-LABEL: func.func @matmul
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32, #heddle.dims<"tokens">>
func.func @matmul(%x: !x) {
  // CHECK: %[[W:.*]] = heddle.read @w
  %w = heddle.read @w : tensor<8x4xf32>
  %y = heddle.matmul %x, %w : !x, tensor<8x4xf32> -> !y
  %r = heddle.sum rows %y : !y -> tensor<4xf32>
  %loss = heddle.sum columns %r : tensor<4xf32> -> tensor<1xf32>
  // CHECK: %[[ONE:.*]] = heddle.fill 1.000000e+00 : f32 : tensor<1xf32>
  // CHECK-NEXT: %[[DR:.*]] = heddle.broadcast %[[ONE]] : tensor<1xf32> to tensor<4xf32>
  // CHECK-NEXT: %[[DY:.*]] = heddle.broadcast %[[DR]] : tensor<4xf32> to tensor<?x4xf32, #heddle.dims<"tokens">>
  // CHECK-NEXT: %[[DW:.*]] = heddle.matmul %[[X]], %[[DY]] {transpose_lhs} : {{.*}} -> tensor<8x4xf32>
  // CHECK-NEXT: %[[BEFORE:.*]] = heddle.read @grad.w
  // CHECK-NEXT: %[[AFTER:.*]] = arith.addf %[[BEFORE]], %[[DW]]
  // CHECK-NEXT: heddle.write @grad.w, %[[AFTER]]
  // CHECK-NEXT: return
  heddle.accumulate %loss
  return
}

// Y = X T^T: dX = dY T, dT = dY^T X.
// CHECK-LABEL: func.func @matmul_transpose_rhs
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32, #heddle.dims<"tokens">>
func.func @matmul_transpose_rhs(%x: !x) {
  // CHECK: %[[ROW:.*]] = heddle.read @row
  // CHECK: %[[T:.*]] = heddle.read @t
  %row = heddle.read @row : tensor<8xf32>
  %t = heddle.read @t : tensor<4x8xf32>
  %b = heddle.broadcast %row : tensor<8xf32> to !x
  %s = arith.addf %x, %b : !x
  // CHECK: %[[S:.*]] = arith.addf
  %y = heddle.matmul %s, %t {transpose_rhs} : !x, tensor<4x8xf32> -> !y
  %r = heddle.sum rows %y : !y -> tensor<4xf32>
  %loss = heddle.sum columns %r : tensor<4xf32> -> tensor<1xf32>
  // CHECK: %[[DY:.*]] = heddle.broadcast %{{.*}} to tensor<?x4xf32
  // CHECK-NEXT: %[[DS:.*]] = heddle.matmul %[[DY]], %[[T]] : {{.*}} -> tensor<?x8xf32
  // CHECK-NEXT: %[[DT:.*]] = heddle.matmul %[[DY]], %[[S]] {transpose_lhs} : {{.*}} -> tensor<4x8xf32>
  // CHECK-NEXT: %[[DROW:.*]] = heddle.sum rows %[[DS]] : {{.*}} -> tensor<8xf32>
  heddle.accumulate %loss
  return
}

// C = W^T T^T with both transposed, and C = W^T X^T's relatives: dW = T^T C'^T, dT = C'^T W^T.
// CHECK-LABEL: func.func @matmul_transpose_both
func.func @matmul_transpose_both() {
  // CHECK: %[[W:.*]] = heddle.read @w
  // CHECK: %[[T:.*]] = heddle.read @t
  %w = heddle.read @w : tensor<8x4xf32>
  %t = heddle.read @t : tensor<4x8xf32>
  %c = heddle.matmul %w, %t {transpose_lhs, transpose_rhs} : tensor<8x4xf32>, tensor<4x8xf32> -> tensor<4x4xf32>
  %r = heddle.sum rows %c : tensor<4x4xf32> -> tensor<4xf32>
  %loss = heddle.sum columns %r : tensor<4xf32> -> tensor<1xf32>
  // CHECK: %[[DC:.*]] = heddle.broadcast %{{.*}} to tensor<4x4xf32>
  // CHECK-NEXT: heddle.matmul %[[T]], %[[DC]] {transpose_lhs, transpose_rhs} : {{.*}} -> tensor<8x4xf32>
  // CHECK-NEXT: heddle.matmul %[[DC]], %[[W]] {transpose_lhs, transpose_rhs} : {{.*}} -> tensor<4x8xf32>
  heddle.accumulate %loss
  return
}

// C = W^T V: dW = V dC^T, dV = W dC.
// CHECK-LABEL: func.func @matmul_transpose_lhs
func.func @matmul_transpose_lhs() {
  // CHECK: %[[W:.*]] = heddle.read @w
  %w = heddle.read @w : tensor<8x4xf32>
  // CHECK: %[[V:.*]] = math.exp %[[W]]
  %v = math.exp %w : tensor<8x4xf32>
  %c = heddle.matmul %w, %v {transpose_lhs} : tensor<8x4xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
  %r = heddle.sum rows %c : tensor<4x4xf32> -> tensor<4xf32>
  %loss = heddle.sum columns %r : tensor<4xf32> -> tensor<1xf32>
  // CHECK: %[[DC:.*]] = heddle.broadcast %{{.*}} to tensor<4x4xf32>
  // CHECK-NEXT: %[[DW:.*]] = heddle.matmul %[[V]], %[[DC]] {transpose_rhs} : {{.*}} -> tensor<8x4xf32>
  // CHECK-NEXT: %[[DV:.*]] = heddle.matmul %[[W]], %[[DC]] : {{.*}} -> tensor<8x4xf32>
  // CHECK-NEXT: %[[DE:.*]] = arith.mulf %[[DV]], %[[V]]
  // CHECK-NEXT: arith.addf %[[DW]], %[[DE]]
  heddle.accumulate %loss
  return
}

// The gradient of a broadcast is a sum along the repeated dimension: over the rows for a row, over the columns for a
// column, and over both, one after the other, for a scalar.
// CHECK-LABEL: func.func @broadcast
func.func @broadcast(%x: !x) {
  %row = heddle.read @row : tensor<8xf32>
  %scalar = heddle.read @scalar : tensor<1xf32>
  %rows = heddle.broadcast %row : tensor<8xf32> to !x
  %all = heddle.broadcast %scalar : tensor<1xf32> to !x
  %a = arith.addf %rows, %all : !x
  %one_column = heddle.broadcast %scalar : tensor<1xf32> to !column
  %columns = heddle.broadcast %one_column : !column to !x
  %b = arith.addf %a, %columns : !x
  %p = arith.mulf %b, %x : !x
  %s = heddle.sum columns %p : !x -> !column
  %loss = heddle.sum rows %s : !column -> tensor<1xf32>
  // CHECK: heddle.fill 1.000000e+00
  // CHECK-NEXT: %[[DS:.*]] = heddle.broadcast %{{.*}} : tensor<1xf32> to tensor<?xf32, #heddle.dims<"tokens">>
  // CHECK-NEXT: %[[DP:.*]] = heddle.broadcast %[[DS]] : tensor<?xf32, #heddle.dims<"tokens">> to tensor<?x8xf32, #heddle.dims<"tokens">>
  // CHECK-NEXT: %[[DB:.*]] = arith.mulf %[[DP]], %{{.*}}
  // CHECK-NEXT: %[[DCOLUMN:.*]] = heddle.sum columns %[[DB]] : {{.*}} -> tensor<?xf32, #heddle.dims<"tokens">>
  // CHECK-NEXT: %[[D0:.*]] = heddle.sum rows %[[DCOLUMN]] : {{.*}} -> tensor<1xf32>
  // CHECK-NEXT: %[[DALL:.*]] = heddle.sum rows %[[DB]] : {{.*}} -> tensor<8xf32>
  // CHECK-NEXT: %[[D1:.*]] = heddle.sum columns %[[DALL]] : tensor<8xf32> -> tensor<1xf32>
  // CHECK-NEXT: %[[DSCALAR:.*]] = arith.addf %[[D0]], %[[D1]]
  // CHECK-NEXT: %[[DROW:.*]] = heddle.sum rows %[[DB]] : {{.*}} -> tensor<8xf32>
  heddle.accumulate %loss
  return
}

// CHECK-LABEL: func.func @layer_norm
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32, #heddle.dims<"tokens">>
func.func @layer_norm(%x: !x) {
  // CHECK: %[[W:.*]] = heddle.read @scalar
  %scalar = heddle.read @scalar : tensor<1xf32>
  // CHECK: %[[GAMMA:.*]] = heddle.read @row
  %gamma = heddle.read @row : tensor<8xf32>
  %beta = heddle.read @beta : tensor<8xf32>
  %w = heddle.broadcast %scalar : tensor<1xf32> to !x
  // CHECK: %[[S:.*]] = arith.mulf %[[X]], %{{.*}}
  %s = arith.mulf %x, %w : !x
  // CHECK: %{{.*}}, %[[MEAN:.*]], %[[RSTD:.*]] = heddle.layer_norm
  %y, %mean, %rstd = heddle.layer_norm %s, %gamma, %beta {epsilon = 1.0e-6 : f32} : !x, tensor<8xf32>, tensor<8xf32> -> !column
  %p = arith.mulf %y, %x : !x
  %r = heddle.sum rows %p : !x -> tensor<8xf32>
  %loss = heddle.sum columns %r : tensor<8xf32> -> tensor<1xf32>
  // CHECK: heddle.fill 1.0
  // CHECK: %[[DY:.*]] = arith.mulf %{{.*}}, %[[X]]
  // CHECK-NEXT: %[[DS:.*]] = heddle.layer_norm_grad %[[DY]], %[[S]], %[[GAMMA]], %[[MEAN]], %[[RSTD]]
  // CHECK-NEXT: %[[M:.*]] = heddle.broadcast %[[MEAN]]
  // CHECK-NEXT: %[[R:.*]] = heddle.broadcast %[[RSTD]]
  // CHECK-NEXT: %[[C:.*]] = arith.subf %[[S]], %[[M]]
  // CHECK-NEXT: %[[N:.*]] = arith.mulf %[[C]], %[[R]]
  // CHECK-NEXT: %[[G:.*]] = arith.mulf %[[DY]], %[[N]]
  // CHECK-NEXT: %[[DGAMMA:.*]] = heddle.sum rows %[[G]]
  // CHECK-NEXT: %[[DBETA:.*]] = heddle.sum rows %[[DY]]
  // CHECK: arith.addf %{{.*}}, %[[DGAMMA]]
  // CHECK: arith.addf %{{.*}}, %[[DBETA]]
  heddle.accumulate %loss
  return
}

// CHECK-LABEL: func.func @cross_entropy
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32, {{.*}}>, %[[TARGETS:.*]]: tensor<?xi32, {{.*}}>, %[[SCALE:.*]]: tensor<1xf32>
func.func @cross_entropy(%x: !x, %targets: !indices, %scale: tensor<1xf32>) {
  %w = heddle.read @w : tensor<8x4xf32>
  // CHECK: %[[LOGITS:.*]] = heddle.matmul
  %logits = heddle.matmul %x, %w : !x, tensor<8x4xf32> -> !y
  // CHECK: %{{.*}}, %[[LSE:.*]] = heddle.cross_entropy
  %losses, %lse = heddle.cross_entropy %logits, %targets {smoothing = 0.1 : f32} : !y, !indices -> !column
  %sum = heddle.sum rows %losses : !column -> tensor<1xf32>
  %loss = arith.mulf %sum, %scale : tensor<1xf32>
  // CHECK: %[[ONE:.*]] = heddle.fill 1.0
  // CHECK-NEXT: %[[DSUM:.*]] = arith.mulf %[[ONE]], %[[SCALE]]
  // CHECK-NEXT: %[[DLOSSES:.*]] = heddle.broadcast %[[DSUM]] : tensor<1xf32> to tensor<?xf32, #heddle.dims<"tokens">>
  // CHECK-NEXT: %[[DLOGITS:.*]] = heddle.cross_entropy_grad %[[LOGITS]], %[[TARGETS]], %[[LSE]], %[[DLOSSES]] {smoothing = 1.000000e-01 : f32}
  // CHECK-NEXT: heddle.matmul %[[X]], %[[DLOGITS]] {transpose_lhs}
  heddle.accumulate %loss
  return
}

// The gradient of dropout has the place, seed, step and stream of the forward pass, and therefore the same mask.
// CHECK-LABEL: func.func @dropout
// CHECK-SAME: %[[SEED:[^:]*]]: tensor<2xi32>, %[[STEP:[^:]*]]: tensor<1xi32>
func.func @dropout(%seed: tensor<2xi32>, %step: tensor<1xi32>) {
  %row = heddle.read @row : tensor<8xf32>
  %b = heddle.broadcast %row : tensor<8xf32> to !x
  %d = heddle.dropout %b seed %seed step %step {rate = 0.1 : f32, stream = 5 : i32} : !x
  %r = heddle.sum rows %d : !x -> tensor<8xf32>
  %loss = heddle.sum columns %r : tensor<8xf32> -> tensor<1xf32>
  // CHECK: heddle.fill 1.0
  // CHECK: %[[DD:.*]] = heddle.broadcast %{{.*}} to tensor<?x8xf32
  // CHECK-NEXT: %[[DB:.*]] = heddle.dropout %[[DD]] seed %[[SEED]] step %[[STEP]] {rate = 1.000000e-01 : f32, stream = 5 : i32}
  // CHECK-NEXT: heddle.sum rows %[[DB]]
  heddle.accumulate %loss
  return
}

// The table's gradient is scattered onto the gradient that it is added to: no table of zeros and no addition.
// CHECK-LABEL: func.func @embedding
// CHECK-SAME: %[[I:.*]]: tensor<?xi32, #heddle.dims<"tokens">>
func.func @embedding(%i: !indices) {
  %t = heddle.read @t : tensor<4x8xf32>
  %e = heddle.embedding %i, %t : !indices, tensor<4x8xf32> -> !x
  %r = heddle.sum rows %e : !x -> tensor<8xf32>
  %loss = heddle.sum columns %r : tensor<8xf32> -> tensor<1xf32>
  // CHECK: %[[DE:.*]] = heddle.broadcast %{{.*}} to tensor<?x8xf32
  // CHECK-NEXT: %[[BEFORE:.*]] = heddle.read @grad.t
  // CHECK-NEXT: %[[AFTER:.*]] = heddle.scatter_add %[[BEFORE]], %[[I]], %[[DE]]
  // CHECK-NEXT: heddle.write @grad.t, %[[AFTER]]
  heddle.accumulate %loss
  return
}

// Rows that are added by index: each row has the gradient of its sum.
// CHECK-LABEL: func.func @scatter_add
// CHECK-SAME: %[[I:.*]]: tensor<?xi32, #heddle.dims<"tokens">>
func.func @scatter_add(%i: !indices) {
  %row = heddle.read @row : tensor<8xf32>
  %b = heddle.broadcast %row : tensor<8xf32> to !x
  %zero = heddle.fill 0.0 : f32 : tensor<?x8xf32, #heddle.dims<"sequences">>
  %s = heddle.scatter_add %zero, %i, %b : tensor<?x8xf32, #heddle.dims<"sequences">>, !indices, !x
  %r = heddle.sum rows %s : tensor<?x8xf32, #heddle.dims<"sequences">> -> tensor<8xf32>
  %loss = heddle.sum columns %r : tensor<8xf32> -> tensor<1xf32>
  // CHECK: %[[DS:.*]] = heddle.broadcast %{{.*}} to tensor<?x8xf32, #heddle.dims<"sequences">>
  // CHECK-NEXT: %[[DB:.*]] = heddle.embedding %[[I]], %[[DS]] : {{.*}} -> tensor<?x8xf32, #heddle.dims<"tokens">>
  // CHECK-NEXT: heddle.sum rows %[[DB]]
  heddle.accumulate %loss
  return
}
