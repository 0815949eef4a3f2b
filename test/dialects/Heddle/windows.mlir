// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --canonicalize | FileCheck %s --check-prefix=CANONICAL

!x = tensor<?x8xf32, #heddle.dims<"tokens">>
!u = tensor<?x24xf32, #heddle.dims<"tokens">>
!p = tensor<?xi32, #heddle.dims<"tokens">>

// CHECK-LABEL: func.func @windows
// CHECK: heddle.unfold %{{.*}} at %{{.*}} from -1 to 1 : tensor<?x8xf32, #heddle.dims<"tokens">>, tensor<?xi32, #heddle.dims<"tokens">> -> tensor<?x24xf32
// CHECK: heddle.fold %{{.*}} at %{{.*}} from -1 to 1 : tensor<?x24xf32, #heddle.dims<"tokens">>, tensor<?xi32, #heddle.dims<"tokens">> -> tensor<?x8xf32
func.func @windows(%x: !x, %p: !p) -> !x {
  %u = heddle.unfold %x at %p from -1 to 1 : !x, !p -> !u
  %y = heddle.fold %u at %p from -1 to 1 : !u, !p -> !x
  return %y : !x
}

// A window of one row is the row itself.
// CANONICAL-LABEL: func.func @alone
// CANONICAL-SAME: (%[[X:.*]]: tensor<?x8xf32
// CANONICAL-NEXT: return %[[X]]
func.func @alone(%x: !x, %p: !p) -> !x {
  %u = heddle.unfold %x at %p from 0 to 0 : !x, !p -> !x
  %y = heddle.fold %u at %p from 0 to 0 : !x, !p -> !x
  return %y : !x
}

// A window of another single row stays.
// CANONICAL-LABEL: func.func @before
// CANONICAL: heddle.unfold
func.func @before(%x: !x, %p: !p) -> !x {
  %y = heddle.unfold %x at %p from -1 to -1 : !x, !p -> !x
  return %y : !x
}
