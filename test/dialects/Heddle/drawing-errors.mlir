// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @draw(%x: tensor<4x?xf32>, %t: tensor<4xf32>, %k: tensor<4xi32>) {
  // expected-error @+1 {{expects a static number of columns}}
  %0:2 = heddle.draw %x, %t, %k, %t key(%k, %k) : tensor<4x?xf32>, tensor<4xf32>, tensor<4xi32>
  return
}

// -----

func.func @draw(%x: tensor<4x8xf32>, %t: tensor<4xf32>, %k: tensor<4xi32>) {
  // expected-error @+1 {{expects a run-time number of rows, got 'tensor<4x8xf32>'}}
  %0:2 = heddle.draw %x, %t, %k, %t key(%k, %k) : tensor<4x8xf32>, tensor<4xf32>, tensor<4xi32>
  return
}

// -----

!logits = tensor<?x8xf32, #heddle.dims<"sequences">>
!numbers = tensor<?xf32, #heddle.dims<"sequences">>
!indices = tensor<?xi32, #heddle.dims<"groups">>
func.func @draw(%x: !logits, %t: !numbers, %k: !indices) {
  // expected-error @+1 {{expects the same number of rows}}
  %0:2 = heddle.draw %x, %t, %k, %t key(%k, %k) : !logits, !numbers, !indices
  return
}

// -----

!logits = tensor<?x8xf32, #heddle.dims<"sequences">>
!numbers = tensor<?xf32, #heddle.dims<"groups">>
!indices = tensor<?xi32, #heddle.dims<"sequences">>
func.func @draw(%x: !logits, %t: !numbers, %k: !indices) {
  // expected-error @+1 {{expects the same number of rows}}
  %0:2 = heddle.draw %x, %t, %k, %t key(%k, %k) : !logits, !numbers, !indices
  return
}

// -----

func.func @penalise(%x: tensor<4x?xf32>, %c: tensor<?xi32, #heddle.dims<"seen">>, %p: tensor<?xf32, #heddle.dims<"seen">>) {
  // expected-error @+1 {{expects a static number of columns}}
  %0 = heddle.penalise %x at(%c, %c) by %p : tensor<4x?xf32>, tensor<?xi32, #heddle.dims<"seen">>, tensor<?xf32, #heddle.dims<"seen">>
  return
}

// -----

func.func @penalise(%x: tensor<4x8xf32>, %c: tensor<3xi32>, %p: tensor<3xf32>) {
  // expected-error @+1 {{expects a run-time number of places, got 'tensor<3xi32>'}}
  %0 = heddle.penalise %x at(%c, %c) by %p : tensor<4x8xf32>, tensor<3xi32>, tensor<3xf32>
  return
}

// -----

func.func @penalise(%x: tensor<4x8xf32>, %c: tensor<?xi32, #heddle.dims<"seen">>, %p: tensor<?xf32, #heddle.dims<"other">>) {
  // expected-error @+1 {{expects the same number of places}}
  %0 = heddle.penalise %x at(%c, %c) by %p : tensor<4x8xf32>, tensor<?xi32, #heddle.dims<"seen">>, tensor<?xf32, #heddle.dims<"other">>
  return
}
