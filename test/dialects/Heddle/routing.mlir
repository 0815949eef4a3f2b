// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --canonicalize | FileCheck %s --check-prefix=FOLDED

// Sizes that are multiples of other sizes.
// CHECK: heddle.size @tokens max 64
// CHECK-NEXT: heddle.size @"tokens*2" max 128 of @tokens times 2{{$}}
// CHECK-NEXT: heddle.size @few max 8 of @tokens times 2 from 0 within
// CHECK-NEXT: heddle.size @rest max 100 of @tokens times 2 from 28{{$}}
heddle.size @tokens max 64
heddle.size @"tokens*2" max 128 of @tokens times 2
heddle.size @few max 8 of @tokens times 2 from 0 within
heddle.size @rest max 100 of @tokens times 2 from 28

!scores = tensor<?x8xf32, #heddle.dims<"tokens">>
!picked = tensor<?x2xf32, #heddle.dims<"tokens">>
!chosen = tensor<?x2xi32, #heddle.dims<"tokens">>
!order = tensor<?x1xi32, #heddle.dims<"tokens*2">>
!experts = tensor<?xi32, #heddle.dims<"tokens*2">>
!rows = tensor<?x4xf32, #heddle.dims<"tokens">>
!choices = tensor<?x4xf32, #heddle.dims<"tokens*2">>
!wide = tensor<?x6xf32, #heddle.dims<"tokens*2">>

// CHECK-LABEL: func.func @choose(
// CHECK-SAME: %[[X:[a-z0-9]+]]:
func.func @choose(%x: !scores) -> (!picked, !scores) {
  // CHECK: %{{.*}}, %{{.*}}, %[[CHOSEN:.*]] = heddle.top_k %[[X]] : tensor<?x8xf32, #heddle.dims<"tokens">> -> tensor<?x2xf32, #heddle.dims<"tokens">>, tensor<?x2xi32, #heddle.dims<"tokens">>
  %largest, %same, %chosen = heddle.top_k %x : !scores -> !picked, !chosen
  // CHECK: %[[PICKED:.*]] = heddle.pick %[[X]], %[[CHOSEN]] : tensor<?x8xf32, #heddle.dims<"tokens">>, tensor<?x2xi32, #heddle.dims<"tokens">> -> tensor<?x2xf32, #heddle.dims<"tokens">>
  %picked = heddle.pick %x, %chosen : !scores, !chosen -> !picked
  // CHECK: heddle.place %[[PICKED]], %[[CHOSEN]] : tensor<?x2xf32, #heddle.dims<"tokens">>, tensor<?x2xi32, #heddle.dims<"tokens">> -> tensor<?x8xf32, #heddle.dims<"tokens">>
  %placed = heddle.place %picked, %chosen : !picked, !chosen -> !scores
  return %picked, %placed : !picked, !scores
}

// CHECK-LABEL: func.func @dispatch(
// CHECK-SAME: %[[C:[a-z0-9]+]]: {{[^%]*}}%[[X:[a-z0-9]+]]:
func.func @dispatch(%chosen: !chosen, %x: !rows) -> (!choices, !rows, !experts, tensor<9xi32>) {
  // CHECK: %[[COUNTS:.*]] = heddle.count_choices %[[C]] : tensor<?x2xi32, #heddle.dims<"tokens">> -> tensor<3x8xi32>
  %counts = heddle.count_choices %chosen : !chosen -> tensor<3x8xi32>
  // CHECK: %[[PLACES:.*]], %[[ORDER:.*]], %[[EXPERTS:.*]], %[[STARTS:.*]] = heddle.dispatch %[[C]], %[[COUNTS]] : tensor<?x2xi32, #heddle.dims<"tokens">>, tensor<3x8xi32> -> tensor<?x1xi32, #heddle.dims<"tokens*2">>, tensor<?xi32, #heddle.dims<"tokens*2">>, tensor<9xi32>
  %places, %order, %experts, %starts = heddle.dispatch %chosen, %counts : !chosen, tensor<3x8xi32> -> !order, !experts, tensor<9xi32>
  // CHECK: heddle.gather %[[X]] at %[[ORDER]] inverse %[[PLACES]] : tensor<?x4xf32, #heddle.dims<"tokens">>, tensor<?x1xi32, #heddle.dims<"tokens*2">>, tensor<?x2xi32, #heddle.dims<"tokens">> -> tensor<?x4xf32, #heddle.dims<"tokens*2">>
  %rows = heddle.gather %x at %order inverse %places : !rows, !order, !chosen -> !choices
  %sums = heddle.gather %rows at %places inverse %order : !choices, !chosen, !order -> !rows
  return %rows, %sums, %experts, %starts : !choices, !rows, !experts, tensor<9xi32>
}

// CHECK-LABEL: func.func @grouped(
// CHECK-SAME: %[[X:[a-z0-9]+]]: {{[^%]*}}%[[W:[a-z0-9]+]]: {{[^%]*}}%[[S:[a-z0-9]+]]:
func.func @grouped(%x: !choices, %w: tensor<32x6xf32>, %s: tensor<9xi32>) -> (!wide, !choices, tensor<32x6xf32>) {
  // CHECK: %[[Y:.*]] = heddle.grouped_matmul %[[X]], %[[W]] groups(%[[S]]) : tensor<?x4xf32, #heddle.dims<"tokens*2">>, tensor<32x6xf32>, tensor<9xi32> -> tensor<?x6xf32, #heddle.dims<"tokens*2">>
  %y = heddle.grouped_matmul %x, %w groups(%s) : !choices, tensor<32x6xf32>, tensor<9xi32> -> !wide
  // CHECK: heddle.grouped_matmul %[[Y]], %[[W]] groups(%[[S]]) {transpose_rhs}
  %dx = heddle.grouped_matmul %y, %w groups(%s) {transpose_rhs} : !wide, tensor<32x6xf32>, tensor<9xi32> -> !choices
  // CHECK: heddle.grouped_matmul %[[X]], %[[Y]] groups(%[[S]]) {transpose_lhs}
  %dw = heddle.grouped_matmul %x, %y groups(%s) {transpose_lhs} : !choices, !wide, tensor<9xi32> -> tensor<32x6xf32>
  return %y, %dx, %dw : !wide, !choices, tensor<32x6xf32>
}

// A row of two numbers becomes two rows of one.
// FOLDED-LABEL: func.func @reshape(
// FOLDED-NEXT: return %{{.*}} : tensor<?x2xf32, #heddle.dims<"tokens">>
func.func @reshape(%x: !picked) -> !picked {
  %flat = heddle.reshape %x : !picked to tensor<?x1xf32, #heddle.dims<"tokens*2">>
  %back = heddle.reshape %flat : tensor<?x1xf32, #heddle.dims<"tokens*2">> to !picked
  return %back : !picked
}
