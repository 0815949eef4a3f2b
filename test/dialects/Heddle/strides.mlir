// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --canonicalize | FileCheck %s --check-prefix=CANONICAL

!x = tensor<?x8xf32, #heddle.dims<"pixels">>
!y = tensor<?x8xf32, #heddle.dims<"pixels_6x6">>

// CHECK-LABEL: func.func @strides
// CHECK: heddle.subsample %{{.*}} width 12 stride 2 at(0, 1) : tensor<?x8xf32, #heddle.dims<"pixels">> -> tensor<?x8xf32, #heddle.dims<"pixels_6x6">>
// CHECK: heddle.upsample %{{.*}} width 12 stride 2 at(0, 1) : tensor<?x8xf32, #heddle.dims<"pixels_6x6">> -> tensor<?x8xf32, #heddle.dims<"pixels">>
func.func @strides(%x: !x) -> !x {
  %y = heddle.subsample %x width 12 stride 2 at (0, 1) : !x -> !y
  %z = heddle.upsample %y width 12 stride 2 at (0, 1) : !y -> !x
  return %z : !x
}

// With a stride of 1 all pixels stay.
// CANONICAL-LABEL: func.func @all
// CANONICAL-SAME: (%[[X:.*]]: tensor<?x8xf32
// CANONICAL-NEXT: return %[[X]]
func.func @all(%x: !x) -> !x {
  %y = heddle.subsample %x width 12 stride 1 at (0, 0) : !x -> !x
  %z = heddle.upsample %y width 12 stride 1 at (0, 0) : !x -> !x
  return %z : !x
}
