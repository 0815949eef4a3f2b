// Which tiles of attention's scores a kernel visits, given its mask. Here a tile is 32 queries and steps of 8 keys, or
// 32 keys and steps of 8 queries.
// RUN: heddle-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile)' | FileCheck %s

!x = tensor<?x64xf32, #heddle.dims<"tokens">>
!heads = tensor<?x4xf32, #heddle.dims<"tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
heddle.size @tokens max 2048
heddle.size @sequences max 64
heddle.size @length max 256 longest "lengths"

// |query - key| <= 64: visits start 64 before the tile's first row and end 64 after its last, whether queries or keys
// own the tile.
// CHECK-LABEL: tile.func @attention_grad_query_Tx64(
// CHECK: %[[FIRST:.*]] = arith.muli %{{.*}}, %c32
// CHECK-DAG: %[[LOW:.*]] = arith.addi %[[FIRST]], %c-64
// CHECK-DAG: %[[BEGIN:.*]] = arith.maxsi %[[LOW]], %c0
// CHECK-DAG: %[[OVER:.*]] = arith.remui %[[BEGIN]], %c8
// CHECK-DAG: %[[START:.*]] = arith.subi %[[BEGIN]], %[[OVER]]
// CHECK-DAG: %[[HIGH:.*]] = arith.addi %[[FIRST]], %c96
// CHECK-DAG: %[[END:.*]] = arith.minsi %{{.*}}, %[[HIGH]]
// CHECK: scf.for %{{.*}} = %[[START]] to %[[END]] step %c8
// CHECK-LABEL: tile.func @attention_grad_key_value_Tx64(
// CHECK: %[[FIRST:.*]] = arith.muli %{{.*}}, %c32
// CHECK-DAG: %[[LOW:.*]] = arith.addi %[[FIRST]], %c-64
// CHECK-DAG: %[[BEGIN:.*]] = arith.maxsi %[[LOW]], %c0
// CHECK-DAG: %[[OVER:.*]] = arith.remui %[[BEGIN]], %c8
// CHECK-DAG: %[[START:.*]] = arith.subi %[[BEGIN]], %[[OVER]]
// CHECK-DAG: %[[HIGH:.*]] = arith.addi %[[FIRST]], %c96
// CHECK-DAG: %[[END:.*]] = arith.minsi %{{.*}}, %[[HIGH]]
// CHECK: scf.for %{{.*}} = %[[START]] to %[[END]] step %c8
func.func @window(%x: !x, %lse: !heads, %s: !segments, %l: !segments) -> (!x, !x, !x) {
  %q = heddle.attention_grad_query %x, %x, %x gradient %x, %lse, %lse queries(%s, %l) keys(%s, %l) mask {
  ^bb0(%i: i32, %j: i32):
    %far = arith.constant 64 : i32
    %d = arith.subi %i, %j : i32
    %a = math.absi %d : i32
    %c = arith.cmpi sle, %a, %far : i32
    heddle.yield %c : i1
  } {heads = 4 : i64, scale = 0.25 : f32, query_size = "length", key_size = "length"}
    : (!x, !x, !x, !x, !heads, !heads, !segments, !segments, !segments, !segments) -> !x
  %k, %v = heddle.attention_grad_key_value %x, %x, %x gradient %x, %lse, %lse queries(%s, %l) keys(%s, %l) mask {
  ^bb0(%i: i32, %j: i32):
    %far = arith.constant 64 : i32
    %d = arith.subi %j, %i : i32
    %a = math.absi %d : i32
    %c = arith.cmpi sge, %far, %a : i32
    heddle.yield %c : i1
  } {heads = 4 : i64, scale = 0.25 : f32, query_size = "length", key_size = "length"}
    : (!x, !x, !x, !x, !heads, !heads, !segments, !segments, !segments, !segments) -> (!x, !x)
  return %q, %k, %v : !x, !x, !x
}

// -----

!x = tensor<?x64xf32, #heddle.dims<"tokens">>
!heads = tensor<?x4xf32, #heddle.dims<"tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
heddle.size @tokens max 2048
heddle.size @sequences max 64
heddle.size @length max 256 longest "lengths"

// Every other key from 3 on, before twice the query. The last key is 2 * (first + 31) - 1. Key 3 lies in the step that
// begins at 0.
// CHECK-LABEL: tile.func @attention_Tx64(
// CHECK: %[[FIRST:.*]] = arith.muli %{{.*}}, %c32
// CHECK: %[[TWICE:.*]] = arith.muli %[[FIRST]], %c2
// CHECK: %[[HIGH:.*]] = arith.addi %[[TWICE]], %c62
// CHECK: %[[END:.*]] = arith.minsi %{{.*}}, %[[HIGH]]
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %[[END]] step %c8
func.func @slope(%x: !x, %s: !segments, %l: !segments) -> !x {
  %y, %lse = heddle.attention %x, %x, %x queries(%s, %l) keys(%s, %l) mask {
  ^bb0(%i: i32, %j: i32):
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %three = arith.constant 3 : i32
    %zero = arith.constant 0 : i32
    %twice = arith.muli %i, %two : i32
    %a = arith.cmpi sgt, %twice, %j : i32
    %b = arith.cmpi sge, %j, %three : i32
    %odd = arith.andi %j, %one : i32
    %c = arith.cmpi ne, %odd, %zero : i32
    %d = arith.andi %a, %b : i1
    %e = arith.andi %d, %c : i1
    heddle.yield %e : i1
  } {heads = 4 : i64, scale = 0.25 : f32, query_size = "length", key_size = "length"}
    : (!x, !x, !x, !segments, !segments, !segments, !segments) -> (!x, !heads)
  return %y : !x
}

// -----

!x = tensor<?x64xf32, #heddle.dims<"tokens">>
!heads = tensor<?x4xf32, #heddle.dims<"tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
heddle.size @tokens max 2048
heddle.size @sequences max 64
heddle.size @length max 256 longest "lengths"

// Only the diagonal counts.
// CHECK-LABEL: tile.func @attention_Tx64(
// CHECK: %[[FIRST:.*]] = arith.muli %{{.*}}, %c32
// CHECK-DAG: %[[BEGIN:.*]] = arith.maxsi %[[FIRST]], %c0
// CHECK-DAG: %[[OVER:.*]] = arith.remui %[[BEGIN]], %c8
// CHECK-DAG: %[[START:.*]] = arith.subi %[[BEGIN]], %[[OVER]]
// CHECK-DAG: %[[HIGH:.*]] = arith.addi %[[FIRST]], %c32
// CHECK-DAG: %[[END:.*]] = arith.minsi %{{.*}}, %[[HIGH]]
// CHECK: scf.for %{{.*}} = %[[START]] to %[[END]] step %c8
func.func @diagonal(%x: !x, %s: !segments, %l: !segments) -> !x {
  %y, %lse = heddle.attention %x, %x, %x queries(%s, %l) keys(%s, %l) mask {
  ^bb0(%i: i32, %j: i32):
    %c = arith.cmpi eq, %i, %j : i32
    heddle.yield %c : i1
  } {heads = 4 : i64, scale = 0.25 : f32, query_size = "length", key_size = "length"}
    : (!x, !x, !x, !segments, !segments, !segments, !segments) -> (!x, !heads)
  return %y : !x
}

// -----

!x = tensor<?x64xf32, #heddle.dims<"tokens">>
!heads = tensor<?x4xf32, #heddle.dims<"tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
heddle.size @tokens max 2048
heddle.size @sequences max 64
heddle.size @length max 256 longest "lengths"

// A disjunction, an unsigned comparison, and a product of the two indices give no bounds, so everything is visited.
// CHECK-LABEL: tile.func @attention_Tx64(
// CHECK: %[[LENGTH:.*]] = arith.index_castui
// CHECK: arith.cmpi ult, %{{.*}}, %[[LENGTH]]
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %[[LENGTH]] step %c8
func.func @unknown(%x: !x, %s: !segments, %l: !segments) -> !x {
  %y, %lse = heddle.attention %x, %x, %x queries(%l, %l) keys(%l, %l) mask {
  ^bb0(%i: i32, %j: i32):
    %four = arith.constant 4 : i32
    %a = arith.cmpi slt, %j, %four : i32
    %b = arith.cmpi sle, %j, %i : i32
    %c = arith.ori %a, %b : i1
    %d = arith.subi %j, %i : i32
    %e = arith.cmpi ule, %d, %four : i32
    %square = arith.muli %i, %j : i32
    %f = arith.cmpi slt, %square, %four : i32
    %g = arith.andi %c, %e : i1
    %h = arith.andi %g, %f : i1
    heddle.yield %h : i1
  } {heads = 4 : i64, scale = 0.25 : f32, query_size = "length", key_size = "length"}
    : (!x, !x, !x, !segments, !segments, !segments, !segments) -> (!x, !heads)
  return %y : !x
}

// -----

!x = tensor<?x64xf32, #heddle.dims<"tokens">>
!heads = tensor<?x4xf32, #heddle.dims<"tokens">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
heddle.size @tokens max 2048
heddle.size @sequences max 64
heddle.size @length max 2048 longest "lengths"

// The window of a description's decoder. However long the sequence is, at most 64 keys before the tile's first query
// and the tile's own 32 keys are visited.
// CHECK-LABEL: tile.func @attention_Tx64(
// CHECK: %[[FIRST:.*]] = arith.muli %{{.*}}, %c32
// CHECK: arith.cmpi ult, %[[FIRST]], %[[LENGTH:.*]] : index
// CHECK-DAG: %[[PAST:.*]] = arith.addi %[[FIRST]], %c32
// CHECK-DAG: %[[END:.*]] = arith.minsi %[[LENGTH]], %[[PAST]]
// CHECK-DAG: %[[LOW:.*]] = arith.addi %[[FIRST]], %c-64
// CHECK-DAG: %[[BEGIN:.*]] = arith.maxsi %[[LOW]], %c0
// CHECK-DAG: %[[OVER:.*]] = arith.remui %[[BEGIN]], %c8
// CHECK-DAG: %[[START:.*]] = arith.subi %[[BEGIN]], %[[OVER]]
// CHECK: scf.for %{{.*}} = %[[START]] to %[[END]] step %c8
func.func @causal_window(%x: !x, %s: !segments, %l: !segments) -> !x {
  %y, %lse = heddle.attention %x, %x, %x queries(%s, %l) keys(%s, %l) mask {
  ^bb0(%i: i32, %j: i32):
    %late = arith.cmpi sle, %j, %i : i32
    %radius = arith.constant 64 : i32
    %d = arith.subi %i, %j : i32
    %near = arith.cmpi sle, %d, %radius : i32
    %c = arith.andi %late, %near : i1
    heddle.yield %c : i1
  } {heads = 4 : i64, scale = 0.25 : f32, query_size = "length", key_size = "length"}
    : (!x, !x, !x, !segments, !segments, !segments, !segments) -> (!x, !heads)
  return %y : !x
}
