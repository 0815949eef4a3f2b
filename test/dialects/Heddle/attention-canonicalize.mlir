// RUN: heddle-opt %s --canonicalize | FileCheck %s

!tokens = tensor<?x8xf32, #heddle.dims<"tokens">>
!per_head = tensor<?x2xf32, #heddle.dims<"tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>

// A region that returns its argument is erased.
// CHECK-LABEL: func.func @identity
// CHECK-NEXT: heddle.attention %{{.*}} keys(%{{.*}}, %{{.*}}) {heads = 2 : i64, {{.*}} scale = 5.000000e-01 : f32}
func.func @identity(%x: !tokens, %s: !segments, %l: !segments) -> !tokens {
  %y, %lse = heddle.attention %x, %x, %x queries(%s, %l) keys(%s, %l) score {
  ^bb0(%score: f32, %query: i32, %key: i32, %head: i32):
    heddle.yield %score : f32
  }
    {heads = 2 : i64, scale = 0.5 : f32, query_size = "length", key_size = "length"}
    : (!tokens, !tokens, !tokens, !segments, !segments, !segments, !segments) -> (!tokens, !per_head)
  return %y : !tokens
}

// A constant factor is folded into the scale, whether it is the left or the right operand.
// CHECK-LABEL: func.func @operand
// CHECK-NEXT: heddle.attention %{{.*}} keys(%{{.*}}, %{{.*}}) {heads = 2 : i64, {{.*}} scale = 2.000000e+00 : f32}
func.func @operand(%x: !tokens, %s: !segments, %l: !segments) -> !tokens {
  %y, %lse = heddle.attention %x, %x, %x queries(%s, %l) keys(%s, %l) score {
  ^bb0(%score: f32, %query: i32, %key: i32, %head: i32):
    %four = arith.constant 4.0 : f32
    %product = arith.mulf %four, %score : f32
    heddle.yield %product : f32
  }
    {heads = 2 : i64, scale = 0.5 : f32, query_size = "length", key_size = "length"}
    : (!tokens, !tokens, !tokens, !segments, !segments, !segments, !segments) -> (!tokens, !per_head)
  return %y : !tokens
}

// Other regions stay.
// CHECK-LABEL: func.func @square
// CHECK-NEXT: heddle.attention %{{.*}} score {
// CHECK: arith.mulf
func.func @square(%x: !tokens, %s: !segments, %l: !segments) -> !tokens {
  %y, %lse = heddle.attention %x, %x, %x queries(%s, %l) keys(%s, %l) score {
  ^bb0(%score: f32, %query: i32, %key: i32, %head: i32):
    %product = arith.mulf %score, %score : f32
    heddle.yield %product : f32
  }
    {heads = 2 : i64, scale = 0.5 : f32, query_size = "length", key_size = "length"}
    : (!tokens, !tokens, !tokens, !segments, !segments, !segments, !segments) -> (!tokens, !per_head)
  return %y : !tokens
}

// A mask that excludes no pair is erased.
// CHECK-LABEL: func.func @full_mask
// CHECK-NEXT: heddle.attention %{{.*}} keys(%{{.*}}, %{{.*}}) {heads = 2 : i64,
func.func @full_mask(%x: !tokens, %s: !segments, %l: !segments) -> !tokens {
  %y, %lse = heddle.attention %x, %x, %x queries(%s, %l) keys(%s, %l) mask {
  ^bb0(%query: i32, %key: i32):
    %counts = arith.cmpi sle, %key, %key : i32
    heddle.yield %counts : i1
  }
    {heads = 2 : i64, scale = 0.5 : f32, query_size = "length", key_size = "length"}
    : (!tokens, !tokens, !tokens, !segments, !segments, !segments, !segments) -> (!tokens, !per_head)
  return %y : !tokens
}
