// RUN: heddle-opt %s --split-input-file --verify-diagnostics

!x = tensor<?x8xf32, #heddle.dims<"pixels">>
!y = tensor<?x8xf32, #heddle.dims<"fewer">>
func.func @width(%x: !x) {
  // expected-error @+1 {{expects a width of 1 to 1048576 and a stride that divides it, got 0 and 1}}
  %0 = heddle.subsample %x width 0 stride 1 at (0, 0) : !x -> !x
  return
}

// -----

!x = tensor<?x8xf32, #heddle.dims<"pixels">>
!y = tensor<?x8xf32, #heddle.dims<"fewer">>
func.func @stride(%x: !x) {
  // expected-error @+1 {{expects a width of 1 to 1048576 and a stride that divides it, got 7 and 2}}
  %0 = heddle.subsample %x width 7 stride 2 at (0, 0) : !x -> !y
  return
}

// -----

!x = tensor<?x8xf32, #heddle.dims<"pixels">>
!y = tensor<?x8xf32, #heddle.dims<"fewer">>
func.func @first(%x: !x) {
  // expected-error @+1 {{expects a first pixel within a stride of 2, got (0, 2)}}
  %0 = heddle.subsample %x width 8 stride 2 at (0, 2) : !x -> !y
  return
}

// -----

!x = tensor<?x8xf32, #heddle.dims<"pixels">>
func.func @as_many(%x: !x) {
  // expected-error @+1 {{expects some of the rows of 'tensor<?x8xf32, #heddle.dims<"pixels">>', got 'tensor<?x8xf32, #heddle.dims<"pixels">>'}}
  %0 = heddle.subsample %x width 8 stride 2 at (0, 0) : !x -> !x
  return
}

// -----

!x = tensor<?x8xf32, #heddle.dims<"pixels">>
!y = tensor<?x9xf32, #heddle.dims<"fewer">>
func.func @columns(%y: !y) {
  // expected-error @+1 {{expects some of the rows of 'tensor<?x8xf32, #heddle.dims<"pixels">>', got 'tensor<?x9xf32, #heddle.dims<"fewer">>'}}
  %0 = heddle.upsample %y width 8 stride 2 at (0, 0) : !y -> !x
  return
}

// -----

!y = tensor<?x8xf32, #heddle.dims<"fewer">>
func.func @static(%y: !y) {
  // expected-error @+1 {{expects some of the rows of 'tensor<64x8xf32>', got}}
  %0 = heddle.upsample %y width 8 stride 2 at (0, 0) : !y -> tensor<64x8xf32>
  return
}
