// RUN: heddle-opt %s --split-input-file --verify-diagnostics

!segments = tensor<?xi32, #heddle.dims<"sequences">>
func.func @columns(%x: tensor<4x?xf32>, %s: !segments) {
  // expected-error @+1 {{expects a static number of columns, got 'tensor<4x?xf32>'}}
  %0 = heddle.segment sum %x segments(%s, %s) {row_size = ""} : tensor<4x?xf32>, !segments -> tensor<?x8xf32, #heddle.dims<"sequences">>
  return
}

// -----

!segments = tensor<?xi32, #heddle.dims<"sequences">>
func.func @rows(%x: tensor<4x8xf32>, %s: !segments) {
  // expected-error @+1 {{expects a run-time number of rows, got 'tensor<4x8xf32>'}}
  %0 = heddle.segment sum %x segments(%s, %s) {row_size = ""} : tensor<4x8xf32>, !segments -> tensor<?x8xf32, #heddle.dims<"sequences">>
  return
}

// -----

!rows = tensor<?x8xf32, #heddle.dims<"tokens">>
func.func @segments(%x: !rows, %s: tensor<3xi32>) {
  // expected-error @+1 {{expects a run-time number of segments, got 'tensor<3xi32>'}}
  %0 = heddle.segment sum %x segments(%s, %s) {row_size = ""} : !rows, tensor<3xi32> -> tensor<3x8xf32>
  return
}

// -----

!rows = tensor<?x8xf32, #heddle.dims<"tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
func.func @width(%x: !rows, %s: !segments) {
  // expected-error @+1 {{expects the same width in}}
  %0 = heddle.segment sum %x segments(%s, %s) {row_size = ""} : !rows, !segments -> tensor<?x7xf32, #heddle.dims<"sequences">>
  return
}

// -----

!rows = tensor<?x8xf32, #heddle.dims<"tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
func.func @count(%x: !rows, %s: !segments) {
  // expected-error @+1 {{expects the same number of segments in}}
  %0 = heddle.segment sum %x segments(%s, %s) {row_size = ""} : !rows, !segments -> !rows
  return
}

// -----

!rows = tensor<?x8xf32, #heddle.dims<"tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
!pooled = tensor<?x8xf32, #heddle.dims<"sequences">>
func.func @missing(%x: !rows, %s: !segments) {
  // expected-error @+1 {{expects a second result for the rows in which the chosen elements are}}
  %0 = heddle.segment max %x segments(%s, %s) {row_size = ""} : !rows, !segments -> !pooled
  return
}

// -----

!rows = tensor<?x8xf32, #heddle.dims<"tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
!pooled = tensor<?x8xf32, #heddle.dims<"sequences">>
!chosen = tensor<?x8xi32, #heddle.dims<"sequences">>
func.func @needless(%x: !rows, %s: !segments) {
  // expected-error @+1 {{chooses no rows, so that a sum is its only result}}
  %0:2 = heddle.segment sum %x segments(%s, %s) {row_size = ""} : !rows, !segments -> !pooled, !chosen
  return
}

// -----

!rows = tensor<?x8xf32, #heddle.dims<"tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
!pooled = tensor<?x8xf32, #heddle.dims<"sequences">>
func.func @width_of_chosen(%x: !rows, %s: !segments) {
  // expected-error @+1 {{expects the same width in}}
  %0:2 = heddle.segment min %x segments(%s, %s) {row_size = ""} : !rows, !segments -> !pooled, tensor<?x7xi32, #heddle.dims<"sequences">>
  return
}

// -----

!rows = tensor<?x8xf32, #heddle.dims<"tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
!pooled = tensor<?x8xf32, #heddle.dims<"sequences">>
func.func @count_of_chosen(%x: !rows, %s: !segments) {
  // expected-error @+1 {{expects the same number of segments in}}
  %0:2 = heddle.segment max %x segments(%s, %s) {row_size = ""} : !rows, !segments -> !pooled, tensor<?x8xi32, #heddle.dims<"tokens">>
  return
}

// -----

!rows = tensor<?x8xf32, #heddle.dims<"tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
func.func @starts(%x: !rows, %s: !segments, %l: tensor<?xi32, #heddle.dims<"tokens">>) {
  // expected-note @-1 {{prior use here}}
  // expected-error @+1 {{use of value '%l' expects different type than prior uses}}
  %0 = heddle.segment sum %x segments(%s, %l) {row_size = ""} : !rows, !segments -> tensor<?x8xf32, #heddle.dims<"sequences">>
  return
}
