// RUN: heddle-opt %s --canonicalize | FileCheck %s

!flat = tensor<?x24xf32, #heddle.dims<"n">>
!heads = tensor<?x2x12xf32, #heddle.dims<"n">>
!narrow = tensor<?x4x6xf32, #heddle.dims<"n">>

// There and back is nothing.
// CHECK-LABEL: func.func @back
// CHECK-SAME: (%[[X:.*]]: tensor<?x24xf32
// CHECK-NEXT: return %[[X]], %[[X]]
func.func @back(%x: !flat) -> (!flat, !flat) {
  %h = heddle.reshape %x : !flat to !heads
  %n = heddle.reshape %h : !heads to !narrow
  %y = heddle.reshape %n : !narrow to !flat
  %z = heddle.reshape %x : !flat to !flat
  return %y, %z : !flat, !flat
}

// By way of another shape is directly.
// CHECK-LABEL: func.func @by_way
// CHECK-SAME: (%[[X:.*]]: tensor<?x24xf32
// CHECK-NEXT: %[[Y:.*]] = heddle.reshape %[[X]] : tensor<?x24xf32, #heddle.dims<"n">> to tensor<?x4x6xf32, #heddle.dims<"n">>
// CHECK-NEXT: return %[[Y]]
func.func @by_way(%x: !flat) -> !narrow {
  %h = heddle.reshape %x : !flat to !heads
  %y = heddle.reshape %h : !heads to !narrow
  return %y : !narrow
}
