// RUN: heddle-opt %s --heddle-recompute | FileCheck %s --check-prefixes=CHECK,CHEAP
// RUN: heddle-opt %s --heddle-recompute='policy=products' | FileCheck %s --check-prefixes=CHECK,PRODUCTS
// RUN: heddle-opt %s --heddle-recompute='policy=none' | FileCheck %s --check-prefix=NONE
// RUN: not heddle-opt %s --heddle-recompute='policy=cheep' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: there is no policy of recomputation 'cheep'; the policies are none, cheap, products and auto
// With `auto`, nothing is recomputed if tensors and variables (68 KiB here) take at most half of the memory. If it is
// not known, or too small, the policy is `cheap`.
// RUN: heddle-opt %s --heddle-recompute='policy=auto memory=1000000000' | FileCheck %s --check-prefix=NONE
// RUN: heddle-opt %s --heddle-recompute='policy=auto memory=100000' | FileCheck %s --check-prefixes=CHECK,CHEAP
// RUN: heddle-opt %s --heddle-recompute='policy=auto' | FileCheck %s --check-prefixes=CHECK,CHEAP
// NONE-NOT: heddle.recomputed

heddle.size @n max 64
heddle.variable @wide weight : tensor<32x512xf32>
heddle.variable @square weight : tensor<32x32xf32>
!x = tensor<?x32xf32, #heddle.dims<"n">>
!wide = tensor<?x512xf32, #heddle.dims<"n">>
!heads = tensor<?x4x8xf32, #heddle.dims<"n">>
!row = tensor<?xf32, #heddle.dims<"n">>

// Most memory is held at the wide matmul. %x is held across it for the gradient of its norm. So the norm can be
// recomputed at its next use, and with it the only matmul that depends on the norm.
// CHECK-LABEL: func.func @held
// CHECK: %[[N:.*]], %{{.*}}, %[[RSTD:.*]] = heddle.layer_norm %[[X:[^ ]*]],
// CHECK: %[[Y:.*]] = heddle.matmul %[[N]], %[[W:[^ ]*]] : {{.*}}tensor<32x32xf32>
// CHECK: %[[WIDE:.*]] = heddle.matmul %[[Y]]
// CHECK: heddle.sum columns %[[WIDE]]
// CHEAP: %[[AGAIN:.*]], %{{.*}}, %{{.*}} = heddle.layer_norm %[[X]], {{.*}}heddle.recomputed
// CHEAP: heddle.matmul %[[AGAIN]], %[[Y]] {transpose_lhs}
// PRODUCTS: %[[AGAIN:.*]], %{{.*}}, %{{.*}} = heddle.layer_norm %[[X]], {{.*}}heddle.recomputed
// PRODUCTS: %[[YAGAIN:.*]] = heddle.matmul %[[AGAIN]], %[[W]] {heddle.recomputed}
// PRODUCTS: heddle.matmul %[[AGAIN]], %[[YAGAIN]] {transpose_lhs}
// CHECK: return
func.func @held(%x: !x, %gamma: tensor<32xf32>, %beta: tensor<32xf32>) -> (!row, tensor<32x32xf32>, !x) {
  %w = heddle.read @square : tensor<32x32xf32>
  %v = heddle.read @wide : tensor<32x512xf32>
  %n, %mean, %rstd = heddle.layer_norm %x, %gamma, %beta {epsilon = 1.0e-5 : f32} : !x, tensor<32xf32>, tensor<32xf32> -> !row
  %y = heddle.matmul %n, %w : !x, tensor<32x32xf32> -> !x
  %wide = heddle.matmul %y, %v : !x, tensor<32x512xf32> -> !wide
  %sum = heddle.sum columns %wide : !wide -> !row
  %g = heddle.matmul %n, %y {transpose_lhs} : !x, !x -> tensor<32x32xf32>
  %d = heddle.layer_norm_grad %x, %x, %gamma, %mean, %rstd : !x, tensor<32xf32>, !row
  return %sum, %g, %d : !row, tensor<32x32xf32>, !x
}

// The same with another shape of the norm's result: that the norm is not held does not depend on its shape.
// CHECK-LABEL: func.func @reshaped
// CHECK: %[[N:.*]], %{{.*}}, %{{.*}} = heddle.layer_norm
// CHECK-NEXT: %[[H:.*]] = heddle.reshape %[[N]]
// CHECK-NEXT: %[[EXP:.*]] = math.exp %[[H]]
// CHECK: heddle.sum columns
// CHEAP: %[[AGAIN:.*]], %{{.*}}, %{{.*}} = heddle.layer_norm %{{.*}}heddle.recomputed
// CHEAP: %[[OTHER:.*]] = heddle.reshape %[[AGAIN]]
// CHEAP: arith.addf %{{.*}}, %[[OTHER]]
// CHECK: return
func.func @reshaped(%x: !x, %gamma: tensor<32xf32>, %beta: tensor<32xf32>) -> (!row, !heads, !x) {
  %v = heddle.read @wide : tensor<32x512xf32>
  %n, %mean, %rstd = heddle.layer_norm %x, %gamma, %beta {epsilon = 1.0e-5 : f32} : !x, tensor<32xf32>, tensor<32xf32> -> !row
  %h = heddle.reshape %n : !x to !heads
  %e = math.exp %h : !heads
  %y = heddle.reshape %e : !heads to !x
  %wide = heddle.matmul %y, %v : !x, tensor<32x512xf32> -> !wide
  %sum = heddle.sum columns %wide : !wide -> !row
  %a = arith.addf %e, %h : !heads
  %d = heddle.layer_norm_grad %x, %x, %gamma, %mean, %rstd : !x, tensor<32xf32>, !row
  return %sum, %a, %d : !row, !heads, !x
}

// The operands from which %n could be recomputed are not held: two matmuls would have to be computed twice.
// CHECK-LABEL: func.func @gone
// CHECK-NOT: heddle.recomputed
// CHECK: return
func.func @gone(%x: !x) -> (!row, !x) {
  %w = heddle.read @square : tensor<32x32xf32>
  %v = heddle.read @wide : tensor<32x512xf32>
  %a = heddle.matmul %x, %w : !x, tensor<32x32xf32> -> !x
  %b = heddle.matmul %a, %w : !x, tensor<32x32xf32> -> !x
  %n = math.exp %b : !x
  %wide = heddle.matmul %n, %v : !x, tensor<32x512xf32> -> !wide
  %sum = heddle.sum columns %wide : !wide -> !row
  %e = heddle.matmul %n, %w : !x, tensor<32x32xf32> -> !x
  return %sum, %e : !row, !x
}

// Dropout draws the same mask again. The matmul before it is held no longer than before, so `cheap` keeps the result.
// CHECK-LABEL: func.func @dropout
// CHECK: heddle.dropout
// CHEAP-NOT: heddle.dropout
// PRODUCTS: heddle.matmul {{.*}}heddle.recomputed
// PRODUCTS: heddle.dropout {{.*}}heddle.recomputed{{.*}}rate = 1.000000e-01 : f32, stream = 3 : i32
// CHECK: return
func.func @dropout(%x: !x, %seed: tensor<2xi32>, %step: tensor<1xi32>) -> (!row, !x) {
  %w = heddle.read @square : tensor<32x32xf32>
  %v = heddle.read @wide : tensor<32x512xf32>
  %a = heddle.matmul %x, %w : !x, tensor<32x32xf32> -> !x
  %d = heddle.dropout %a seed %seed step %step {rate = 0.1 : f32, stream = 3 : i32} : !x
  %wide = heddle.matmul %d, %v : !x, tensor<32x512xf32> -> !wide
  %sum = heddle.sum columns %wide : !wide -> !row
  %e = heddle.matmul %d, %w : !x, tensor<32x32xf32> -> !x
  return %sum, %e : !row, !x
}

// A chain starts from a held value: %h, which its own gradient needs. The tanh and the op after it are both recomputed,
// the tanh only once, although %h is used a little earlier than the tanh. The sum over columns is as cheap as its
// operand has elements.
// CHECK-LABEL: func.func @chain
// CHECK: heddle.sum columns %{{.*}} : tensor<?x512xf32
// CHEAP: %[[E:.*]] = math.exp %[[H:.*]] : tensor<?x32xf32
// CHEAP: %[[T:.*]] = math.tanh %[[H]] {heddle.recomputed}
// CHEAP: %[[S:.*]] = arith.addf %[[T]], %{{.*}} {heddle.recomputed}
// CHEAP: arith.mulf %[[S]], %[[E]]
// CHEAP-NOT: math.tanh
// CHECK: return
func.func @chain(%x: !x) -> (!row, !x, !x) {
  %w = heddle.read @square : tensor<32x32xf32>
  %v = heddle.read @wide : tensor<32x512xf32>
  %h = heddle.matmul %x, %w : !x, tensor<32x32xf32> -> !x
  %t = math.tanh %h : !x
  %s = arith.addf %t, %h : !x
  %wide = heddle.matmul %s, %v : !x, tensor<32x512xf32> -> !wide
  %sum = heddle.sum columns %wide : !wide -> !row
  %e = math.exp %h : !x
  %a = arith.mulf %s, %e : !x
  %b = heddle.matmul %t, %w : !x, tensor<32x32xf32> -> !x
  return %sum, %a, %b : !row, !x, !x
}

// Two operands of an op may be values with another shape.
// CHECK-LABEL: func.func @two_reshapes
// CHECK-COUNT-2: heddle.reshape
// CHECK-NOT: heddle.reshape
// CHECK: return
func.func @two_reshapes(%a: !x, %b: !x) -> !heads {
  %sum = arith.addf %a, %b : !x
  %product = arith.mulf %a, %b : !x
  %first = heddle.reshape %sum : !x to !heads
  %second = heddle.reshape %product : !x to !heads
  %both = arith.addf %first, %second : !heads
  return %both : !heads
}

// Rows are scattered over the variable's old ones, so only once. Ops that read the new rows may be recomputed.
// CHECK-LABEL: func.func @scattered
// CHECK: %[[NEW:.*]] = heddle.scatter_rows
// CHECK: %[[ROWS:.*]] = heddle.embedding %{{.*}}, %[[NEW]]
// CHECK: heddle.sum columns %{{.*}} : tensor<?x512xf32
// CHECK-NOT: heddle.scatter_rows
// CHECK: %[[AGAIN:.*]] = heddle.embedding %{{.*}}, %[[NEW]] {{.*}}heddle.recomputed
// CHECK: heddle.matmul %[[AGAIN]]
// CHECK: return
heddle.variable @cache cache : tensor<64x32xf32>
func.func @scattered(%x: !x, %at: tensor<?xi32, #heddle.dims<"n">>) -> (!row, !x) {
  %w = heddle.read @square : tensor<32x32xf32>
  %v = heddle.read @wide : tensor<32x512xf32>
  %old = heddle.read @cache : tensor<64x32xf32>
  %new = heddle.scatter_rows %old, %at, %x : tensor<64x32xf32>, tensor<?xi32, #heddle.dims<"n">>, !x
  heddle.write @cache, %new : tensor<64x32xf32>
  %rows = heddle.embedding %at, %new : tensor<?xi32, #heddle.dims<"n">>, tensor<64x32xf32> -> !x
  %wide = heddle.matmul %rows, %v : !x, tensor<32x512xf32> -> !wide
  %sum = heddle.sum columns %wide : !wide -> !row
  %b = heddle.matmul %rows, %w : !x, tensor<32x32xf32> -> !x
  return %sum, %b : !row, !x
}

// At that place the old rows are overwritten.
// CHECK-LABEL: func.func @overwritten
// CHECK-NOT: heddle.recomputed
// CHECK: return
func.func @overwritten(%x: !x, %at: tensor<?xi32, #heddle.dims<"n">>) -> (!row, !x) {
  %w = heddle.read @square : tensor<32x32xf32>
  %v = heddle.read @wide : tensor<32x512xf32>
  %old = heddle.read @cache : tensor<64x32xf32>
  %rows = heddle.embedding %at, %old : tensor<?xi32, #heddle.dims<"n">>, tensor<64x32xf32> -> !x
  %new = heddle.scatter_rows %old, %at, %x : tensor<64x32xf32>, tensor<?xi32, #heddle.dims<"n">>, !x
  heddle.write @cache, %new : tensor<64x32xf32>
  %wide = heddle.matmul %rows, %v : !x, tensor<32x512xf32> -> !wide
  %sum = heddle.sum columns %wide : !wide -> !row
  %b = heddle.matmul %rows, %w : !x, tensor<32x32xf32> -> !x
  return %sum, %b : !row, !x
}
