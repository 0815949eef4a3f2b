// RUN: heddle-opt %s --split-input-file --verify-diagnostics

!x = tensor<?x8xf32, #heddle.dims<"tokens">>
!p = tensor<?xi32, #heddle.dims<"tokens">>
func.func @backwards(%x: !x, %p: !p) {
  // expected-error @+1 {{expects a window from its first row to its last, got 1 to 0}}
  %0 = heddle.unfold %x at %p from 1 to 0 : !x, !p -> !x
  return
}

// -----

!x = tensor<?x8xf32, #heddle.dims<"tokens">>
!p = tensor<?xi32, #heddle.dims<"tokens">>
func.func @far(%x: !x, %p: !p) {
  // expected-error @+1 {{reaches from -2000 to -2000, and windows reach 1024 rows at most in each direction}}
  %0 = heddle.unfold %x at %p from -2000 to -2000 : !x, !p -> !x
  return
}

// -----

!x = tensor<?x8xf32, #heddle.dims<"tokens">>
!p = tensor<?xi32, #heddle.dims<"others">>
func.func @positions(%x: !x, %p: !p) {
  // expected-error @+1 {{expects a position for each row of}}
  %0 = heddle.unfold %x at %p from -1 to -1 : !x, !p -> !x
  return
}

// -----

!x = tensor<5x8xf32>
!p = tensor<5xi32>
func.func @no_tokens(%x: !x, %p: !p) {
  // expected-error @+1 {{expects a position for each row of}}
  %0 = heddle.unfold %x at %p from -1 to -1 : !x, !p -> !x
  return
}

// -----

!x = tensor<?x8xf32, #heddle.dims<"tokens">>
!p = tensor<?xi32, #heddle.dims<"tokens">>
func.func @width(%x: !x, %p: !p) {
  // expected-error @+1 {{expects windows of 3 rows of 'tensor<?x8xf32, #heddle.dims<"tokens">>', got 'tensor<?x8xf32, #heddle.dims<"tokens">>'}}
  %0 = heddle.unfold %x at %p from -1 to 1 : !x, !p -> !x
  return
}

// -----

!x = tensor<?x8xf32, #heddle.dims<"tokens">>
!p = tensor<?xi32, #heddle.dims<"tokens">>
func.func @folded(%x: !x, %p: !p) {
  // expected-error @+1 {{expects windows of 2 rows of}}
  %0 = heddle.fold %x at %p from -1 to 0 : !x, !p -> !x
  return
}
