// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --canonicalize | FileCheck %s --check-prefix=SMALL

// CHECK-LABEL: func.func @bucket(
// CHECK-SAME: %[[A:[a-z0-9]+]]: {{[^%]*}}%[[B:[a-z0-9]+]]:
func.func @bucket(%a: tensor<8x16xf32>, %b: tensor<16xf32>) -> (tensor<8x16xf32>, tensor<16xf32>) {
  // CHECK: %[[SUMS:.*]]:2 = heddle.all_reduce %[[A]], %[[B]] : tensor<8x16xf32>, tensor<16xf32>
  %0, %1 = heddle.all_reduce %a, %b : tensor<8x16xf32>, tensor<16xf32>
  // CHECK: return %[[SUMS]]#0, %[[SUMS]]#1
  return %0, %1 : tensor<8x16xf32>, tensor<16xf32>
}

// Unused operands and duplicates are not sent. Zeros are not sent either, because their sum is known.
// SMALL-LABEL: func.func @dropped(
// SMALL-SAME: %[[A:[a-z0-9]+]]: {{[^%]*}}%[[B:[a-z0-9]+]]:
// SMALL-DAG: %[[ZERO:.*]] = heddle.fill 0.0
// SMALL-DAG: %[[SUM:.*]] = heddle.all_reduce %[[B]] : tensor<16xf32>
// SMALL: return %[[SUM]], %[[SUM]], %[[ZERO]]
func.func @dropped(%a: tensor<16xf32>, %b: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) {
  %zero = heddle.fill 0.0 : f32 : tensor<16xf32>
  %0:4 = heddle.all_reduce %a, %b, %zero, %b : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
  return %0#1, %0#3, %0#2 : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
}

// An empty bucket is erased.
// SMALL-LABEL: func.func @gone(
// SMALL-NEXT: %[[ZERO:.*]] = heddle.fill 0.0
// SMALL-NEXT: return %[[ZERO]]
func.func @gone() -> tensor<16xf32> {
  %zero = heddle.fill 0.0 : f32 : tensor<16xf32>
  %0 = heddle.all_reduce %zero : tensor<16xf32>
  return %0 : tensor<16xf32>
}

heddle.variable @w weight : tensor<8x16xf32>
heddle.variable @b weight : tensor<64xf32>
// CHECK: heddle.variable @adam.m.w optimizer_state of @w as first_moment : tensor<8x16xf32> {sharded}
heddle.variable @adam.m.w optimizer_state of @w as first_moment : tensor<8x16xf32> {sharded}
heddle.variable @adam.m.b optimizer_state of @b as first_moment : tensor<64xf32> {sharded}

// CHECK-LABEL: func.func @gathered(
// CHECK-SAME: %[[A:[a-z0-9]+]]: {{[^%]*}}%[[B:[a-z0-9]+]]:
// SMALL-LABEL: func.func @gathered(
// SMALL-SAME: %[[A:[a-z0-9]+]]: {{[^%]*}}%[[B:[a-z0-9]+]]:
func.func @gathered(%a: tensor<8x16xf32>, %b: tensor<64xf32>) -> tensor<64xf32> {
  // CHECK: %[[ALL:.*]]:2 = heddle.all_gather %[[A]], %[[B]] as [@adam.m.w, @adam.m.b] : tensor<8x16xf32>, tensor<64xf32>
  // SMALL: %[[ONE:.*]] = heddle.all_gather %[[B]] as [@adam.m.b] : tensor<64xf32>
  // SMALL-NEXT: return %[[ONE]]
  %0:2 = heddle.all_gather %a, %b as [@adam.m.w, @adam.m.b] : tensor<8x16xf32>, tensor<64xf32>
  return %0#1 : tensor<64xf32>
}

// CHECK-LABEL: func.func @scattered(
// CHECK-SAME: %[[A:[a-z0-9]+]]: {{[^%]*}}%[[B:[a-z0-9]+]]:
// SMALL-LABEL: func.func @scattered(
// SMALL-SAME: %[[A:[a-z0-9]+]]: {{[^%]*}}%[[B:[a-z0-9]+]]:
func.func @scattered(%a: tensor<8x16xf32>, %b: tensor<64xf32>) -> tensor<64xf32> {
  // CHECK: %[[ALL:.*]]:2 = heddle.reduce_scatter %[[A]], %[[B]] as [@adam.m.w, @adam.m.b] : tensor<8x16xf32>, tensor<64xf32>
  // SMALL: %[[ONE:.*]] = heddle.reduce_scatter %[[B]] as [@adam.m.b] : tensor<64xf32>
  // SMALL-NEXT: return %[[ONE]]
  %0:2 = heddle.reduce_scatter %a, %b as [@adam.m.w, @adam.m.b] : tensor<8x16xf32>, tensor<64xf32>
  return %0#1 : tensor<64xf32>
}
