// The gradient rules of norms over each head of a row, compared with central differences in float64.
// REQUIRES: numpy
// RUN: heddle-opt %s --heddle-differentiate --canonicalize --cse | FileCheck %s --check-prefix=RULE
// RUN: heddle-opt %s --heddle-differentiate --mlir-print-op-generic | %python %S/Inputs/check_gradients.py | FileCheck %s

!flat = tensor<?x12xf32, #heddle.dims<"target_tokens">>
!heads = tensor<?x3x4xf32, #heddle.dims<"target_tokens">>
!numbers = tensor<?x3xf32, #heddle.dims<"target_tokens">>
!column = tensor<?xf32, #heddle.dims<"target_tokens">>

heddle.variable @w weight : tensor<12x12xf32>
heddle.variable @grad.w gradient of @w as gradient : tensor<12x12xf32>
heddle.variable @gain weight : tensor<4xf32>
heddle.variable @grad.gain gradient of @gain as gradient : tensor<4xf32>

// All heads share the gain, so its gradient is summed over all rows and then over all heads.
// RULE-LABEL: func.func @norm
// RULE: %[[ALL:.*]] = heddle.sum rows %{{.*}} : tensor<?x3x4xf32, #heddle.dims<"target_tokens">> -> tensor<12xf32>
// RULE: %[[HEADS:.*]] = heddle.reshape %[[ALL]] : tensor<12xf32> to tensor<3x4xf32>
// RULE: heddle.sum rows %[[HEADS]] : tensor<3x4xf32> -> tensor<4xf32>
// RULE: heddle.sum columns %{{.*}} : tensor<?x3x4xf32, #heddle.dims<"target_tokens">> -> tensor<?x3xf32, #heddle.dims<"target_tokens">>
// RULE: heddle.reshape %{{.*}} : tensor<?x3x4xf32, #heddle.dims<"target_tokens">> to tensor<?x12xf32, #heddle.dims<"target_tokens">>
// CHECK: norm: gradient of w agrees
// CHECK: norm: gradient of gain agrees
func.func @norm(%x: !flat, %y: !flat) -> tensor<1xf32> {
  %w = heddle.read @w : tensor<12x12xf32>
  %gain = heddle.read @gain : tensor<4xf32>
  %q = heddle.matmul %x, %w : !flat, tensor<12x12xf32> -> !flat
  %h = heddle.reshape %q : !flat to !heads
  %squares = arith.mulf %h, %h : !heads
  %sums = heddle.sum columns %squares : !heads -> !numbers
  %epsilon = heddle.fill 0.1 : f32 : !numbers
  %0 = arith.addf %sums, %epsilon : !numbers
  %1 = math.rsqrt %0 : !numbers
  %2 = heddle.broadcast %1 : !numbers to !heads
  %3 = heddle.broadcast %gain : tensor<4xf32> to !heads
  %4 = arith.mulf %h, %2 : !heads
  %5 = arith.mulf %4, %3 : !heads
  %6 = heddle.reshape %5 : !heads to !flat
  %7 = arith.mulf %6, %y : !flat
  %8 = heddle.sum columns %7 : !flat -> !column
  %loss = heddle.sum rows %8 : !column -> tensor<1xf32>
  heddle.accumulate %loss
  return %loss : tensor<1xf32>
}
