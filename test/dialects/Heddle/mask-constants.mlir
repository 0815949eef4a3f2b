// Folding and deduplication leave the constants of a mask inside it, where a kernel finds them.
// RUN: heddle-opt %s --canonicalize --cse | FileCheck %s

!x = tensor<?x8xf32, #heddle.dims<"tokens">>
!heads = tensor<?x1xf32, #heddle.dims<"tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
heddle.size @tokens max 64
heddle.size @sequences max 8
heddle.size @length max 32 longest "lengths"

// CHECK-LABEL: func.func @window(
// CHECK-NOT: arith.constant
// CHECK: heddle.attention {{.*}} mask {
// CHECK-NEXT: ^bb0(%[[I:.*]]: i32, %[[J:.*]]: i32):
// CHECK-NEXT: %[[NINE:.*]] = arith.constant 9 : i32
// CHECK-NEXT: %[[FAR:.*]] = arith.subi %[[I]], %[[J]]
// CHECK-NEXT: arith.cmpi sle, %[[FAR]], %[[NINE]]
func.func @window(%x: !x, %s: !segments, %l: !segments) -> !x {
  %y, %lse = heddle.attention %x, %x, %x queries(%s, %l) keys(%s, %l) mask {
  ^bb0(%i: i32, %j: i32):
    %four = arith.constant 4 : i32
    %five = arith.constant 5 : i32
    %nine = arith.addi %four, %five : i32
    %d = arith.subi %i, %j : i32
    %c = arith.cmpi sle, %d, %nine : i32
    heddle.yield %c : i1
  } {heads = 1 : i64, scale = 0.25 : f32, query_size = "length", key_size = "length"}
    : (!x, !x, !x, !segments, !segments, !segments, !segments) -> (!x, !heads)
  return %y : !x
}
