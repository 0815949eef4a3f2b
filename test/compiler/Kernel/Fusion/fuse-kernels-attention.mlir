// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels))' | FileCheck %s

!x = tensor<?x64xf32, #heddle.dims<"tokens">>
!half = tensor<?x64xbf16, #heddle.dims<"tokens">>
!per_head = tensor<?x2xf32, #heddle.dims<"tokens">>
!sequences = tensor<?xi32, #heddle.dims<"sequences">>

// Elementwise ops after attention on tensor cores are computed on its finished tiles. This holds for both gradients
// too.
// CHECK-LABEL: func.func @rounded
// CHECK: %[[Y:.*]]:2 = heddle.kernel "attention_truncf"(
// CHECK: heddle.attention
// CHECK: arith.truncf
// CHECK: heddle.yield
// CHECK: %[[D:.*]]:2 = heddle.kernel "attention_grad_key_value_truncf_truncf"(
// CHECK: %[[DK:.*]], %[[DV:.*]] = heddle.attention_grad_key_value
// CHECK-DAG: arith.truncf %[[DK]]
// CHECK-DAG: arith.truncf %[[DV]]
// CHECK: heddle.yield
// CHECK: return %[[Y]]#{{[01]}}, %[[D]]#0, %[[D]]#1
func.func @rounded(%q: !half, %k: !half, %v: !half, %g: !half, %delta: !per_head, %starts: !sequences, %lengths: !sequences) -> (!half, !half, !half) {
  %y, %lse = heddle.attention %q, %k, %v queries(%starts, %lengths) keys(%starts, %lengths)
      {heads = 2 : i64, scale = 0.25 : f32, query_size = "n", key_size = "n"} : (!half, !half, !half, !sequences, !sequences, !sequences, !sequences) -> (!x, !per_head)
  %rounded = arith.truncf %y : !x to !half
  %dk, %dv = heddle.attention_grad_key_value %q, %k, %v gradient %g, %lse, %delta queries(%starts, %lengths) keys(%starts, %lengths)
      {heads = 2 : i64, scale = 0.25 : f32, query_size = "n", key_size = "n"} : (!half, !half, !half, !half, !per_head, !per_head, !sequences, !sequences, !sequences, !sequences) -> (!x, !x)
  %a = arith.truncf %dk : !x to !half
  %b = arith.truncf %dv : !x to !half
  return %rounded, %a, %b : !half, !half, !half
}

// An op that is recomputed for the backward pass does not join a kernel of the forward pass, which would keep its
// result.
// CHECK-LABEL: func.func @recomputed
// CHECK: %[[Y:.*]]:2 = heddle.kernel "attention_truncf"(
// CHECK: %[[Z:.*]] = heddle.kernel "truncf"(%[[Y]]#{{[01]}} :
// CHECK: return %[[Y]]#{{[01]}}, %[[Z]]
func.func @recomputed(%q: !half, %k: !half, %v: !half, %starts: !sequences, %lengths: !sequences) -> (!half, !half) {
  %y, %lse = heddle.attention %q, %k, %v queries(%starts, %lengths) keys(%starts, %lengths)
      {heads = 2 : i64, scale = 0.25 : f32, query_size = "n", key_size = "n"} : (!half, !half, !half, !sequences, !sequences, !sequences, !sequences) -> (!x, !per_head)
  %rounded = arith.truncf %y : !x to !half
  %again = arith.truncf %y {heddle.recomputed} : !x to !half
  return %rounded, %again : !half, !half
}

// Without tensor cores a lane has whole rows and no registers to spare, so nothing is fused.
// CHECK-LABEL: func.func @in_registers
// CHECK: heddle.kernel "attention"(
// CHECK: heddle.kernel "truncf"(
func.func @in_registers(%q: !x, %starts: !sequences, %lengths: !sequences) -> !half {
  %y, %lse = heddle.attention %q, %q, %q queries(%starts, %lengths) keys(%starts, %lengths)
      {heads = 2 : i64, scale = 0.25 : f32, query_size = "n", key_size = "n"} : (!x, !x, !x, !sequences, !sequences, !sequences, !sequences) -> (!x, !per_head)
  %rounded = arith.truncf %y : !x to !half
  return %rounded : !half
}
