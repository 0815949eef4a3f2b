// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-lower-windows))' | FileCheck %s
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-lower-windows{products=false}))' | FileCheck %s --check-prefix=MADE
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-lower-windows,heddle-fuse-kernels))' | FileCheck %s --check-prefix=KERNELS

!x = tensor<?x8xf32, #heddle.dims<"n">>
!u = tensor<?x24xf32, #heddle.dims<"n">>
!g = tensor<?x4xf32, #heddle.dims<"n">>
!p = tensor<?xi32, #heddle.dims<"n">>
heddle.size @n max 64

// A matmul of windows becomes a sum of matmuls of shifted rows in one kernel, and the windows are gone.
// CHECK-LABEL: func.func @product
// CHECK-SAME: (%[[X:.*]]: tensor<?x8xf32, {{.*}}>, %[[P:.*]]: tensor<?xi32, {{.*}}>, %[[W:.*]]: tensor<24x4xf32>)
// CHECK-NEXT: %[[BEFORE:.*]] = heddle.unfold %[[X]] at %[[P]] from -1 to -1
// CHECK-NEXT: %[[W0:.*]] = heddle.slice %[[W]] from 0 : tensor<24x4xf32> to tensor<8x4xf32>
// CHECK-NEXT: %[[Y0:.*]] = heddle.matmul %[[BEFORE]], %[[W0]]
// CHECK-NEXT: %[[W1:.*]] = heddle.slice %[[W]] from 8
// CHECK-NEXT: %[[Y1:.*]] = heddle.matmul %[[X]], %[[W1]]
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[Y0]], %[[Y1]]
// CHECK-NEXT: %[[BEHIND:.*]] = heddle.unfold %[[X]] at %[[P]] from 1 to 1
// CHECK-NEXT: %[[W2:.*]] = heddle.slice %[[W]] from 16
// CHECK-NEXT: %[[Y2:.*]] = heddle.matmul %[[BEHIND]], %[[W2]]
// CHECK-NEXT: %[[Y:.*]] = arith.addf %[[SUM]], %[[Y2]]
// CHECK-NEXT: return %[[Y]]
// MADE-LABEL: func.func @product
// MADE: %[[U:.*]] = heddle.join %{{.*}}, %{{.*}}, %{{.*}} :
// MADE: heddle.matmul %[[U]],
// KERNELS-LABEL: func.func @product
// KERNELS-COUNT-1: heddle.kernel
// KERNELS-NOT: heddle.kernel
func.func @product(%x: !x, %p: !p, %w: tensor<24x4xf32>) -> !g {
  %u = heddle.unfold %x at %p from -1 to 1 : !x, !p -> !u
  %y = heddle.matmul %u, %w : !u, tensor<24x4xf32> -> !g
  return %y : !g
}

// The gradient of the rows also becomes such a sum, with rows shifted the other way.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: (%[[G:.*]]: tensor<?x4xf32, {{.*}}>, %[[P:.*]]: tensor<?xi32
// CHECK: heddle.unfold %[[G]] at %[[P]] from 1 to 1
// CHECK: heddle.matmul {{.*}} {transpose_rhs}
// CHECK: heddle.matmul %[[G]], {{.*}} {transpose_rhs}
// CHECK: heddle.unfold %[[G]] at %[[P]] from -1 to -1
// CHECK-NOT: heddle.fold
// CHECK: return
// MADE-LABEL: func.func @rows
// MADE: heddle.fold
// KERNELS-LABEL: func.func @rows
// KERNELS-COUNT-1: heddle.kernel
// KERNELS-NOT: heddle.kernel
func.func @rows(%g: !g, %p: !p, %w: tensor<24x4xf32>) -> !x {
  %u = heddle.matmul %g, %w {transpose_rhs} : !g, tensor<24x4xf32> -> !u
  %y = heddle.fold %u at %p from -1 to 1 : !u, !p -> !x
  return %y : !x
}

// The gradient of the matrix is computed part by part, each at its place.
// CHECK-LABEL: func.func @weights
// CHECK: %[[A:.*]] = heddle.matmul {{.*}} {transpose_lhs} : {{.*}} -> tensor<8x4xf32>
// CHECK: %[[B:.*]] = heddle.matmul %arg0, {{.*}} {transpose_lhs}
// CHECK: %[[C:.*]] = heddle.matmul {{.*}} {transpose_lhs}
// CHECK: heddle.concat %[[A]], %[[B]], %[[C]]
// KERNELS-LABEL: func.func @weights
// KERNELS-COUNT-3: heddle.kernel "matmul"
// KERNELS-NOT: heddle.kernel
func.func @weights(%x: !x, %p: !p, %g: !g) -> tensor<24x4xf32> {
  %u = heddle.unfold %x at %p from -1 to 1 : !x, !p -> !u
  %y = heddle.matmul %u, %g {transpose_lhs} : !u, !g -> tensor<24x4xf32>
  return %y : tensor<24x4xf32>
}

// Tensor cores take operands from memory.
// CHECK-LABEL: func.func @cores
// CHECK: %[[U:.*]] = heddle.join
// CHECK: heddle.matmul %[[U]]
// KERNELS-LABEL: func.func @cores
// KERNELS-COUNT-2: heddle.kernel
func.func @cores(%x: !x, %p: !p, %w: tensor<24x4xf32>) -> !g {
  %u = heddle.unfold %x at %p from -1 to 1 : !x, !p -> !u
  %y = heddle.matmul %u, %w {heddle.tf32} : !u, tensor<24x4xf32> -> !g
  return %y : !g
}

// Other readers of the windows find them in memory.
// CHECK-LABEL: func.func @read
// CHECK: %[[U:.*]] = heddle.join
// CHECK: math.tanh %[[U]]
func.func @read(%x: !x, %p: !p) -> !u {
  %u = heddle.unfold %x at %p from -1 to 1 : !x, !p -> !u
  %y = math.tanh %u : !u
  return %y : !u
}
