// RUN: heddle-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(func.func(heddle-set-precision{precision=bf16}),heddle-share-rounded)' | FileCheck %s

!x = tensor<?x8xf32, #heddle.dims<"n">>
heddle.size @n max 64

// The copy is stored beside the weight. Variables that are no weights, and weights inside other variables, have none.
// CHECK: heddle.variable @w weight : tensor<8x8xf32>
// CHECK-NEXT: heddle.variable @cache.w.bf16 cache of @w as rounded : tensor<8x8xbf16>
// CHECK-NEXT: heddle.variable @cache cache : tensor<8x8xf32>
// CHECK-NEXT: heddle.variable @both weight : tensor<16x8xf32>
// CHECK-NEXT: heddle.variable @first weight : tensor<8x8xf32> in @both from 0
// CHECK-NEXT: heddle.variable @odd weight : tensor<8x3xf32>
// CHECK-NOT: heddle.variable
heddle.variable @w weight : tensor<8x8xf32>
heddle.variable @cache cache : tensor<8x8xf32>
heddle.variable @both weight : tensor<16x8xf32>
heddle.variable @first weight : tensor<8x8xf32> in @both from 0
heddle.variable @odd weight : tensor<8x3xf32>

// If nothing else needs the weight, it is not read.
// CHECK-LABEL: func.func @forward(
// CHECK-NOT: heddle.read @w :
// CHECK: %[[W:.*]] = heddle.read @cache.w.bf16 : tensor<8x8xbf16>
// CHECK: heddle.matmul %{{.*}}, %[[W]]
func.func @forward(%x: !x) -> !x {
  %w = heddle.read @w : tensor<8x8xf32>
  %y = heddle.matmul %x, %w : !x, tensor<8x8xf32> -> !x
  return %y : !x
}

// An entry that updates the weight reads the copy too. The new value is rounded where it is computed.
// CHECK-LABEL: func.func @update(
// CHECK: %[[OLD:.*]] = heddle.read @w : tensor<8x8xf32>
// CHECK-NOT: arith.truncf %[[OLD]]
// CHECK: %[[R:.*]] = heddle.read @cache.w.bf16 : tensor<8x8xbf16>
// CHECK: heddle.matmul %{{.*}}, %[[R]]
// CHECK: %[[G:.*]] = heddle.matmul {{.*}} {transpose_lhs}
// CHECK: %[[NEW:.*]] = arith.subf %[[OLD]], %[[G]]
// CHECK: %[[ROUNDED:.*]] = arith.truncf %[[NEW]]
// CHECK: heddle.write @w, %[[NEW]]
// CHECK: heddle.write @cache.w.bf16, %[[ROUNDED]]
func.func @update(%x: !x) -> !x {
  %w = heddle.read @w : tensor<8x8xf32>
  %y = heddle.matmul %x, %w : !x, tensor<8x8xf32> -> !x
  %g = heddle.matmul %x, %y {transpose_lhs} : !x, !x -> tensor<8x8xf32>
  %new = arith.subf %w, %g : tensor<8x8xf32>
  heddle.write @w, %new : tensor<8x8xf32>
  return %y : !x
}

// A value that is read after the update is rounded again: the pass does not follow the order of writes.
// CHECK-LABEL: func.func @after_update(
// CHECK: heddle.write @w
// CHECK: %[[NEW:.*]] = heddle.read @w
// CHECK: %[[R:.*]] = arith.truncf %[[NEW]]
// CHECK: heddle.matmul %{{.*}}, %[[R]]
func.func @after_update(%x: !x, %v: tensor<8x8xf32>) -> !x {
  heddle.write @w, %v : tensor<8x8xf32>
  %w = heddle.read @w : tensor<8x8xf32>
  %y = heddle.matmul %x, %w : !x, tensor<8x8xf32> -> !x
  return %y : !x
}

// CHECK-LABEL: func.func @others(
// CHECK-COUNT-3: arith.truncf
func.func @others(%x: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<16x8xf32>, tensor<8x3xf32>) {
  %c = heddle.read @cache : tensor<8x8xf32>
  %b = heddle.read @both : tensor<16x8xf32>
  %o = heddle.read @odd : tensor<8x3xf32>
  %p = heddle.matmul %c, %c : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %q = heddle.matmul %b, %c : tensor<16x8xf32>, tensor<8x8xf32> -> tensor<16x8xf32>
  %r = heddle.matmul %c, %o : tensor<8x8xf32>, tensor<8x3xf32> -> tensor<8x3xf32>
  return %p, %q, %r : tensor<8x8xf32>, tensor<16x8xf32>, tensor<8x3xf32>
}

// CHECK-LABEL: func.func @round_weights() {
// CHECK: %[[W:.*]] = heddle.read @w : tensor<8x8xf32>
// CHECK: %[[R:.*]] = arith.truncf %[[W]] : tensor<8x8xf32> to tensor<8x8xbf16>
// CHECK: heddle.write @cache.w.bf16, %[[R]] : tensor<8x8xbf16>
// CHECK: return

// -----

heddle.variable @w weight : tensor<8x8xf32>

// expected-error @+1 {{'round_weights' is the name of the entry that rounds weights; give this entry another name}}
func.func @round_weights(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %w = heddle.read @w : tensor<8x8xf32>
  %y = heddle.matmul %x, %w : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}
