// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s

!logits = tensor<?x8xf32, #heddle.dims<"sequences">>
!numbers = tensor<?xf32, #heddle.dims<"sequences">>
!indices = tensor<?xi32, #heddle.dims<"sequences">>
!places = tensor<?xi32, #heddle.dims<"seen">>
!penalties = tensor<?xf32, #heddle.dims<"seen">>

// CHECK-LABEL: func.func @draw(
// CHECK-SAME: %[[X:[a-z0-9]+]]: {{[^%]*}}%[[T:[a-z0-9]+]]: {{[^%]*}}%[[K:[a-z0-9]+]]: {{[^%]*}}%[[P:[a-z0-9]+]]: {{[^%]*}}%[[LOW:[a-z0-9]+]]: {{[^%]*}}%[[HIGH:[a-z0-9]+]]:
func.func @draw(%x: !logits, %t: !numbers, %k: !indices, %p: !numbers, %low: !indices, %high: !indices) -> (!indices, !numbers) {
  // CHECK: %[[TOKEN:.*]], %[[CUTOFF:.*]] = heddle.draw %[[X]], %[[T]], %[[K]], %[[P]] key(%[[LOW]], %[[HIGH]]) : tensor<?x8xf32, #heddle.dims<"sequences">>, tensor<?xf32, #heddle.dims<"sequences">>, tensor<?xi32, #heddle.dims<"sequences">>
  %token, %cutoff = heddle.draw %x, %t, %k, %p key(%low, %high) : !logits, !numbers, !indices
  // CHECK: return %[[TOKEN]], %[[CUTOFF]]
  return %token, %cutoff : !indices, !numbers
}

// CHECK-LABEL: func.func @penalise(
// CHECK-SAME: %[[X:[a-z0-9]+]]: {{[^%]*}}%[[R:[a-z0-9]+]]: {{[^%]*}}%[[C:[a-z0-9]+]]: {{[^%]*}}%[[P:[a-z0-9]+]]:
func.func @penalise(%x: !logits, %r: !places, %c: !places, %p: !penalties) -> !logits {
  // CHECK: heddle.penalise %[[X]] at(%[[R]], %[[C]]) by %[[P]] : tensor<?x8xf32, #heddle.dims<"sequences">>, tensor<?xi32, #heddle.dims<"seen">>, tensor<?xf32, #heddle.dims<"seen">>
  %y = heddle.penalise %x at(%r, %c) by %p : !logits, !places, !penalties
  return %y : !logits
}
