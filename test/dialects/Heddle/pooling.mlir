// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s

!rows = tensor<?x8xf32, #heddle.dims<"tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
!pooled = tensor<?x8xf32, #heddle.dims<"sequences">>
!chosen = tensor<?x8xi32, #heddle.dims<"sequences">>

// CHECK-LABEL: func.func @segment(
// CHECK-SAME: %[[X:[a-z0-9]+]]: {{[^%]*}}%[[S:[a-z0-9]+]]: {{[^%]*}}%[[L:[a-z0-9]+]]:
func.func @segment(%x: !rows, %s: !segments, %l: !segments) -> (!pooled, !pooled, !chosen, !pooled, !chosen) {
  // CHECK: %[[SUM:.*]] = heddle.segment sum %[[X]] segments(%[[S]], %[[L]]) {row_size = "length"} : tensor<?x8xf32, #heddle.dims<"tokens">>, tensor<?xi32, #heddle.dims<"sequences">> -> tensor<?x8xf32, #heddle.dims<"sequences">>{{$}}
  %sum = heddle.segment sum %x segments(%s, %l) {row_size = "length"} : !rows, !segments -> !pooled
  // CHECK: %[[MAX:.*]], %[[FIRST:.*]] = heddle.segment max %[[X]] segments(%[[S]], %[[L]]) {row_size = "length"} : tensor<?x8xf32, #heddle.dims<"tokens">>, tensor<?xi32, #heddle.dims<"sequences">> -> tensor<?x8xf32, #heddle.dims<"sequences">>, tensor<?x8xi32, #heddle.dims<"sequences">>
  %max, %first = heddle.segment max %x segments(%s, %l) {row_size = "length"} : !rows, !segments -> !pooled, !chosen
  // CHECK: %[[MIN:.*]], %[[OTHER:.*]] = heddle.segment min %[[X]] segments(%[[S]], %[[L]]) {row_size = ""} :
  %min, %other = heddle.segment min %x segments(%s, %l) {row_size = ""} : !rows, !segments -> !pooled, !chosen
  // CHECK: return %[[SUM]], %[[MAX]], %[[FIRST]], %[[MIN]], %[[OTHER]]
  return %sum, %max, %first, %min, %other : !pooled, !pooled, !chosen, !pooled, !chosen
}
