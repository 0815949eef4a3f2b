// RUN: heddle-opt %s --heddle-fuse-cross-entropy=rows=8 --split-input-file | FileCheck %s
// RUN: heddle-opt %s --split-input-file \
// RUN:   --pass-pipeline='builtin.module(heddle-fuse-cross-entropy{rows=8},func.func(heddle-fuse-kernels))' | FileCheck %s --check-prefix=KERNELS
// RUN: heddle-opt %s --heddle-fuse-cross-entropy=rows=8 --split-input-file --remarks-filter=fuse-cross-entropy -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

// REMARK: [Passed] fused | Category:fuse-cross-entropy | Function=tied | Into="3 chunks of at most 8 tokens", What="logits and cross_entropy"
// REMARK: [Missed] not fused | Category:fuse-cross-entropy | Function=returned | Reason="'func.return' needs the logits, or what is as large, of all tokens at once or by their numbers"
// REMARK: Function=depends | Reason="an operand is not there yet where the logits are made"
// REMARK: Function=small | Reason="all logits are small: they would be a chunk or two, or take little memory"

// The head of a model and its gradients, one chunk of tokens at a time. 20 tokens are chunks of 8, 8 and 4.
!x = tensor<?x4xf32, #heddle.dims<"n">>
!logits = tensor<?x6xf32, #heddle.dims<"n">>
!column = tensor<?xf32, #heddle.dims<"n">>
!indices = tensor<?xi32, #heddle.dims<"n">>
// CHECK: heddle.size @n max 20
// CHECK-DAG: heddle.size @n_8_at_0 max 8 of @n from 0
// CHECK-DAG: heddle.size @n_8_at_8 max 8 of @n from 8
// CHECK-DAG: heddle.size @n_8_at_16 max 4 of @n from 16
heddle.size @n max 20

// CHECK-LABEL: func.func @tied
// CHECK-SAME:    %[[X:.*]]: tensor<?x4xf32, {{.*}}>, %[[W:.*]]: tensor<6x4xf32>, %[[T:.*]]: tensor<?xi32, {{.*}}>, %[[G:[^:]*]]: tensor<1xf32>
// CHECK-NOT:     tensor<?x6xf32, #heddle.dims<"n">>
// CHECK:         %[[GC:.*]] = heddle.broadcast %[[G]]
// CHECK:         %[[X0:.*]] = heddle.slice %[[X]] from 0 : tensor<?x4xf32, #heddle.dims<"n">> to tensor<?x4xf32, #heddle.dims<"n_8_at_0">>
// CHECK:         %[[T0:.*]] = heddle.slice %[[T]] from 0
// CHECK:         %[[G0:.*]] = heddle.slice %[[GC]] from 0
// CHECK:         %[[L0:.*]] = heddle.matmul %[[X0]], %[[W]] {transpose_rhs} : {{.*}} -> tensor<?x6xf32, #heddle.dims<"n_8_at_0">>
// CHECK:         %[[LOSS0:.*]], %[[LSE0:.*]] = heddle.cross_entropy %[[L0]], %[[T0]] {smoothing = 1.0{{.*}}}
// CHECK:         %[[D0:.*]] = heddle.cross_entropy_grad %[[L0]], %[[T0]], %[[LSE0]], %[[G0]]
// CHECK:         %[[DX0:.*]] = heddle.matmul %[[D0]], %[[W]]
// CHECK:         %[[DW0:.*]] = heddle.matmul %[[D0]], %[[X0]] {transpose_lhs}
// CHECK:         %[[DB0:.*]] = heddle.sum rows %[[D0]]
// CHECK:         %[[X1:.*]] = heddle.slice %[[X]] from 8
// CHECK:         %[[DX1:.*]] = heddle.matmul
// CHECK-SAME:      tensor<?x4xf32, #heddle.dims<"n_8_at_8">>
// CHECK:         %[[P1:.*]] = heddle.matmul %{{.*}}, %[[X1]] {transpose_lhs}
// CHECK:         %[[DW1:.*]] = arith.addf %[[DW0]], %[[P1]] : tensor<6x4xf32>
// CHECK:         %[[X2:.*]] = heddle.slice %[[X]] from 16
// CHECK:         %[[P2:.*]] = heddle.matmul %{{.*}}, %[[X2]] {transpose_lhs}
// CHECK:         %[[DW2:.*]] = arith.addf %[[DW1]], %[[P2]] : tensor<6x4xf32>
// CHECK:         %[[LOSS:.*]] = heddle.concat %[[LOSS0]], %{{.*}}, %{{.*}} to tensor<?xf32, #heddle.dims<"n">>
// CHECK:         %[[DX:.*]] = heddle.concat %[[DX0]], %{{.*}}, %{{.*}} to tensor<?x4xf32, #heddle.dims<"n">>
// CHECK:         return %[[LOSS]], %[[DX]], %[[DW2]], %{{.*}}

// Each chunk is four kernels: the logits; the loss, and its gradient in place of the logits; and the two gradients of
// the matmul, the second of which is added to the sum so far.
// KERNELS-LABEL: func.func @tied
// KERNELS-COUNT-1: heddle.kernel "broadcast"
// KERNELS:         heddle.kernel "matmul"
// KERNELS:         heddle.kernel "cross_entropy_cross_entropy_grad"
// KERNELS:         heddle.kernel "matmul"
// KERNELS:         heddle.kernel "matmul"
// KERNELS:         heddle.kernel "matmul"
// KERNELS:         heddle.kernel "cross_entropy_cross_entropy_grad"
// KERNELS:         heddle.kernel "matmul"
// KERNELS:         heddle.kernel "matmul_addf"
func.func @tied(%x: !x, %w: tensor<6x4xf32>, %t: !indices, %g: tensor<1xf32>)
    -> (!column, !x, tensor<6x4xf32>, tensor<6xf32>) {
  %logits = heddle.matmul %x, %w {transpose_rhs} : !x, tensor<6x4xf32> -> !logits
  %loss, %lse = heddle.cross_entropy %logits, %t {smoothing = 0.1 : f32} : !logits, !indices -> !column
  %gc = heddle.broadcast %g : tensor<1xf32> to !column
  %d = heddle.cross_entropy_grad %logits, %t, %lse, %gc {smoothing = 0.1 : f32} : !logits, !indices, !column
  %dx = heddle.matmul %d, %w : !logits, tensor<6x4xf32> -> !x
  %dw = heddle.matmul %d, %x {transpose_lhs} : !logits, !x -> tensor<6x4xf32>
  %db = heddle.sum rows %d : !logits -> tensor<6xf32>
  return %loss, %dx, %dw, %db : !column, !x, tensor<6x4xf32>, tensor<6xf32>
}

// A transformation with a bias, and only the loss, as in an evaluation.
// CHECK-LABEL: func.func @untied
// CHECK-NOT:     tensor<?x6xf32, #heddle.dims<"n">>
// CHECK:         heddle.matmul %{{.*}}, %arg1 : {{.*}} -> tensor<?x6xf32, #heddle.dims<"n_8_at_0">>
// CHECK:         heddle.broadcast %arg2 : tensor<6xf32> to tensor<?x6xf32, #heddle.dims<"n_8_at_0">>
// CHECK:         arith.addf
// CHECK:         heddle.cross_entropy
// CHECK:         heddle.concat
func.func @untied(%x: !x, %w: tensor<4x6xf32>, %b: tensor<6xf32>, %t: !indices) -> !column {
  %product = heddle.matmul %x, %w : !x, tensor<4x6xf32> -> !logits
  %wide = heddle.broadcast %b : tensor<6xf32> to !logits
  %logits = arith.addf %product, %wide : !logits
  %loss, %lse = heddle.cross_entropy %logits, %t {smoothing = 0.0 : f32} : !logits, !indices -> !column
  return %loss : !column
}

// -----

// Logits that must not be split: another op needs them whole, the gradient depends on the loss of all tokens, no matmul
// computes them, or dropout (which depends on the row's number) changes them.
!x = tensor<?x4xf32, #heddle.dims<"n">>
!logits = tensor<?x6xf32, #heddle.dims<"n">>
!column = tensor<?xf32, #heddle.dims<"n">>
!indices = tensor<?xi32, #heddle.dims<"n">>
heddle.size @n max 20

// CHECK-LABEL: func.func @returned
// CHECK-NOT:     heddle.slice
func.func @returned(%x: !x, %w: tensor<6x4xf32>, %t: !indices) -> (!column, !logits) {
  %logits = heddle.matmul %x, %w {transpose_rhs} : !x, tensor<6x4xf32> -> !logits
  %loss, %lse = heddle.cross_entropy %logits, %t {smoothing = 0.1 : f32} : !logits, !indices -> !column
  return %loss, %logits : !column, !logits
}

// CHECK-LABEL: func.func @depends
// CHECK-NOT:     heddle.slice
func.func @depends(%x: !x, %w: tensor<6x4xf32>, %t: !indices) -> !x {
  %logits = heddle.matmul %x, %w {transpose_rhs} : !x, tensor<6x4xf32> -> !logits
  %loss, %lse = heddle.cross_entropy %logits, %t {smoothing = 0.1 : f32} : !logits, !indices -> !column
  %sum = heddle.sum rows %loss : !column -> tensor<1xf32>
  %g = heddle.broadcast %sum : tensor<1xf32> to !column
  %d = heddle.cross_entropy_grad %logits, %t, %lse, %g {smoothing = 0.1 : f32} : !logits, !indices, !column
  %dx = heddle.matmul %d, %w : !logits, tensor<6x4xf32> -> !x
  return %dx : !x
}

// CHECK-LABEL: func.func @given
// CHECK-NOT:     heddle.slice
func.func @given(%logits: !logits, %t: !indices) -> !column {
  %loss, %lse = heddle.cross_entropy %logits, %t {smoothing = 0.1 : f32} : !logits, !indices -> !column
  return %loss : !column
}

// CHECK-LABEL: func.func @dropped
// CHECK-NOT:     heddle.slice
func.func @dropped(%x: !x, %w: tensor<6x4xf32>, %t: !indices, %seed: tensor<2xi32>, %step: tensor<1xi32>) -> !column {
  %product = heddle.matmul %x, %w {transpose_rhs} : !x, tensor<6x4xf32> -> !logits
  %logits = heddle.dropout %product seed %seed step %step {rate = 0.1 : f32, stream = 3 : i32} : !logits
  %loss, %lse = heddle.cross_entropy %logits, %t {smoothing = 0.1 : f32} : !logits, !indices -> !column
  return %loss : !column
}

// -----

// A batch that fits into one chunk stays whole.
!x = tensor<?x4xf32, #heddle.dims<"n">>
heddle.size @n max 8
// CHECK-LABEL: func.func @small
// CHECK-NOT:     heddle.slice
func.func @small(%x: !x, %w: tensor<6x4xf32>, %t: tensor<?xi32, #heddle.dims<"n">>) -> tensor<?xf32, #heddle.dims<"n">> {
  %logits = heddle.matmul %x, %w {transpose_rhs} : !x, tensor<6x4xf32> -> tensor<?x6xf32, #heddle.dims<"n">>
  %loss, %lse = heddle.cross_entropy %logits, %t {smoothing = 0.1 : f32}
    : tensor<?x6xf32, #heddle.dims<"n">>, tensor<?xi32, #heddle.dims<"n">> -> tensor<?xf32, #heddle.dims<"n">>
  return %loss : tensor<?xf32, #heddle.dims<"n">>
}
