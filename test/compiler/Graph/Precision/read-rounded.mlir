// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-set-precision{precision=bf16}),heddle-share-rounded)' | FileCheck %s
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-set-precision{precision=bf16}),heddle-share-rounded,func.func(heddle-fuse-kernels))' | FileCheck %s --check-prefix=KERNELS
// RUN: heddle-opt %s --pass-pipeline='builtin.module(heddle-share-rounded)' | FileCheck %s --check-prefix=NONE --implicit-check-not=extf

!x = tensor<?x8xf32, #heddle.dims<"n">>
heddle.size @n max 64

// A bias's gradient reads the same value as its weight's gradient. No kernel then writes the 32-bit value.
// CHECK-LABEL: func.func @bias(
// CHECK: %[[H:.*]] = arith.mulf
// CHECK: %[[R:.*]] = arith.truncf %[[H]] : {{.*}} to tensor<?x8xbf16
// CHECK: heddle.matmul %{{.*}}, %[[R]] {transpose_lhs}
// CHECK: %[[WIDE:.*]] = arith.extf %[[R]] : tensor<?x8xbf16, {{.*}}> to tensor<?x8xf32
// CHECK: heddle.sum rows %[[WIDE]]
// KERNELS-LABEL: func.func @bias(
// KERNELS: %[[R:.*]] = heddle.kernel "mulf_truncf"({{.*}}) -> tensor<?x8xbf16, #heddle.dims<"n">> {
// KERNELS: heddle.kernel "sum"(%[[R]] : tensor<?x8xbf16, #heddle.dims<"n">>) -> tensor<8xf32> {
// KERNELS: arith.extf
// KERNELS: heddle.sum rows
// NONE-LABEL: func.func @bias(
func.func @bias(%x: !x, %g: !x) -> (tensor<8x8xf32>, tensor<8xf32>) {
  %h = arith.mulf %g, %g : !x
  %dw = heddle.matmul %x, %h {transpose_lhs} : !x, !x -> tensor<8x8xf32>
  %db = heddle.sum rows %h : !x -> tensor<8xf32>
  return %dw, %db : tensor<8x8xf32>, tensor<8xf32>
}

// The derivative of ReLU compares with zero, which rounding does not change. A comparison with another number might
// change.
// CHECK-LABEL: func.func @relu(
// CHECK: %[[R:.*]] = arith.truncf %[[Y:arg0]] :
// CHECK: %[[WIDE:.*]] = arith.extf %[[R]]
// CHECK: arith.cmpf ogt, %[[WIDE]],
// CHECK: arith.cmpf ogt, %[[Y]],
// KERNELS-LABEL: func.func @relu(
// KERNELS: heddle.kernel "select_select"({{.*}} : {{.*}}tensor<?x8xbf16
func.func @relu(%y: !x, %g: !x, %w: tensor<8x8xf32>) -> (!x, !x) {
  %next = heddle.matmul %y, %w : !x, tensor<8x8xf32> -> !x
  %zero = heddle.fill 0.0 : f32 : !x
  %passed = arith.cmpf ogt, %y, %zero : !x
  %one = heddle.fill 1.0 : f32 : !x
  %large = arith.cmpf ogt, %y, %one : !x
  %dy = arith.select %passed, %g, %zero : tensor<?x8xi1, #heddle.dims<"n">>, !x
  %other = arith.select %large, %dy, %zero : tensor<?x8xi1, #heddle.dims<"n">>, !x
  return %next, %other : !x, !x
}

// Attention's result and its gradient are operands of matmuls: in the gradient of the projection's weight, and in
// attention's own gradient.
// CHECK-LABEL: func.func @delta(
// CHECK-DAG: %[[RX:.*]] = arith.truncf %arg0
// CHECK-DAG: %[[RG:.*]] = arith.truncf %arg1
// CHECK-DAG: %[[X:.*]] = arith.extf %[[RX]]
// CHECK-DAG: %[[G:.*]] = arith.extf %[[RG]]
// CHECK: heddle.attention_delta %[[X]], %[[G]]
// KERNELS-LABEL: func.func @delta(
// KERNELS: heddle.kernel "attention_delta"(%{{.*}}, %{{.*}} : tensor<?x8xbf16, #heddle.dims<"n">>, tensor<?x8xbf16, #heddle.dims<"n">>)
func.func @delta(%x: !x, %g: !x) -> (tensor<8x8xf32>, tensor<?x2xf32, #heddle.dims<"n">>) {
  %dw = heddle.matmul %x, %g {transpose_lhs} : !x, !x -> tensor<8x8xf32>
  %delta = heddle.attention_delta %x, %g : !x -> tensor<?x2xf32, #heddle.dims<"n">>
  return %dw, %delta : tensor<8x8xf32>, tensor<?x2xf32, #heddle.dims<"n">>
}

// Other readers, and a sum of each row's elements, read all bits. So do readers before the rounding.
// CHECK-LABEL: func.func @others(
// CHECK-NOT: extf
func.func @others(%x: !x, %w: tensor<8x8xf32>) -> (!x, tensor<?xf32, #heddle.dims<"n">>) {
  %sum = heddle.sum columns %x : !x -> tensor<?xf32, #heddle.dims<"n">>
  %y = heddle.matmul %x, %w : !x, tensor<8x8xf32> -> !x
  %z = arith.addf %x, %y : !x
  return %z, %sum : !x, tensor<?xf32, #heddle.dims<"n">>
}
