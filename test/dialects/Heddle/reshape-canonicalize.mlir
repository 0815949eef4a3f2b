// RUN: heddle-opt %s --canonicalize | FileCheck %s

!flat = tensor<?x24xf32, #heddle.dims<"n">>
!heads = tensor<?x2x12xf32, #heddle.dims<"n">>
!narrow = tensor<?x4x6xf32, #heddle.dims<"n">>

// A reshape to the original shape is erased.
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

// A reshape of a reshape is one reshape.
// CHECK-LABEL: func.func @by_way
// CHECK-SAME: (%[[X:.*]]: tensor<?x24xf32
// CHECK-NEXT: %[[Y:.*]] = heddle.reshape %[[X]] : tensor<?x24xf32, #heddle.dims<"n">> to tensor<?x4x6xf32, #heddle.dims<"n">>
// CHECK-NEXT: return %[[Y]]
func.func @by_way(%x: !flat) -> !narrow {
  %h = heddle.reshape %x : !flat to !heads
  %y = heddle.reshape %h : !heads to !narrow
  return %y : !narrow
}

// A sum over one column is the column. A sum over several columns stays.
// CHECK-LABEL: func.func @one_column
// CHECK-SAME: (%[[X:.*]]: tensor<?x1xf32{{.*}}, %[[PARTS:.*]]: tensor<?x1x1xf32{{.*}}, %[[Y:.*]]: tensor<?x2xf32
// CHECK-NEXT: %[[A:.*]] = heddle.reshape %[[X]] : tensor<?x1xf32, #heddle.dims<"n">> to tensor<?xf32, #heddle.dims<"n">>
// CHECK-NEXT: %[[B:.*]] = heddle.reshape %[[PARTS]] : tensor<?x1x1xf32, #heddle.dims<"n">> to tensor<?xf32, #heddle.dims<"n">>
// CHECK-NEXT: %[[C:.*]] = heddle.sum columns %[[Y]]
// CHECK-NEXT: return %[[A]], %[[B]], %[[C]]
func.func @one_column(%x: tensor<?x1xf32, #heddle.dims<"n">>, %parts: tensor<?x1x1xf32, #heddle.dims<"n">>,
                      %y: tensor<?x2xf32, #heddle.dims<"n">>)
    -> (tensor<?xf32, #heddle.dims<"n">>, tensor<?xf32, #heddle.dims<"n">>, tensor<?xf32, #heddle.dims<"n">>) {
  %a = heddle.sum columns %x : tensor<?x1xf32, #heddle.dims<"n">> -> tensor<?xf32, #heddle.dims<"n">>
  %b = heddle.sum columns %parts : tensor<?x1x1xf32, #heddle.dims<"n">> -> tensor<?xf32, #heddle.dims<"n">>
  %c = heddle.sum columns %y : tensor<?x2xf32, #heddle.dims<"n">> -> tensor<?xf32, #heddle.dims<"n">>
  return %a, %b, %c : tensor<?xf32, #heddle.dims<"n">>, tensor<?xf32, #heddle.dims<"n">>, tensor<?xf32, #heddle.dims<"n">>
}
