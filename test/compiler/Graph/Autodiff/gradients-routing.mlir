// The gradients of a mixture of experts only read. The gradient of a gather is a gather by the inverse indices, and the
// gradient of a grouped matmul is two grouped matmuls.
// RUN: heddle-opt %s --heddle-differentiate --canonicalize --cse | FileCheck %s

heddle.size @tokens max 64
heddle.size @"tokens*2" max 128 of @tokens times 2
!x = tensor<?x4xf32, #heddle.dims<"tokens">>
!scores = tensor<?x8xf32, #heddle.dims<"tokens">>
!picked = tensor<?x2xf32, #heddle.dims<"tokens">>
!chosen = tensor<?x2xi32, #heddle.dims<"tokens">>
!order = tensor<?x1xi32, #heddle.dims<"tokens*2">>
!rows = tensor<?x4xf32, #heddle.dims<"tokens*2">>
!wide = tensor<?x6xf32, #heddle.dims<"tokens*2">>
heddle.variable @table weight : tensor<10x4xf32>
heddle.variable @router weight : tensor<4x8xf32>
heddle.variable @experts weight : tensor<32x6xf32>
heddle.variable @grad.table gradient of @table as gradient : tensor<10x4xf32>
heddle.variable @grad.router gradient of @router as gradient : tensor<4x8xf32>
heddle.variable @grad.experts gradient of @experts as gradient : tensor<32x6xf32>

// CHECK-LABEL: func.func @f(
// CHECK: %[[CHOSEN:[a-z0-9_]+]] = heddle.top_k
// CHECK: %[[PLACES:[a-z0-9_]+]], %[[ORDER:[a-z0-9_]+]], %{{.*}}, %[[STARTS:[a-z0-9_]+]] = heddle.dispatch
// CHECK: %[[ROWS:.*]] = heddle.gather %{{.*}} at %[[TOKENS:.*]] inverse %[[PLACES]]
// CHECK: %[[Y:.*]] = heddle.grouped_matmul %[[ROWS]], %[[W:.*]] groups(%[[STARTS]]) :
// CHECK: %[[DY:.*]] = arith.{{.*}} : tensor<?x6xf32, #heddle.dims<"tokens*2">>
// CHECK-DAG: %[[DROWS:.*]] = heddle.grouped_matmul %{{.*}}, %[[W]] groups(%[[STARTS]]) {transpose_rhs}
// CHECK-DAG: heddle.grouped_matmul %[[ROWS]], %{{.*}} groups(%[[STARTS]]) {transpose_lhs}
// CHECK-DAG: heddle.gather %[[DROWS]] at %[[PLACES]] inverse %[[TOKENS]] :
// CHECK-DAG: heddle.place %{{.*}}, %[[CHOSEN]] :
func.func @f(%ids: tensor<?xi32, #heddle.dims<"tokens">> {heddle.name = "ids", heddle.limit = 10 : i64}) -> (tensor<1xf32> {heddle.name = "loss"}) {
  %table = heddle.read @table : tensor<10x4xf32>
  %router = heddle.read @router : tensor<4x8xf32>
  %w = heddle.read @experts : tensor<32x6xf32>
  %x = heddle.embedding %ids, %table : tensor<?xi32, #heddle.dims<"tokens">>, tensor<10x4xf32> -> !x
  %scores = heddle.matmul %x, %router : !x, tensor<4x8xf32> -> !scores
  %largest, %same, %chosen = heddle.top_k %scores : !scores -> !picked, !chosen
  %picked = heddle.pick %scores, %chosen : !scores, !chosen -> !picked
  %counts = heddle.count_choices %chosen : !chosen -> tensor<1x8xi32>
  %places, %order, %of, %starts = heddle.dispatch %chosen, %counts : !chosen, tensor<1x8xi32> -> !order, tensor<?xi32, #heddle.dims<"tokens*2">>, tensor<9xi32>
  %two = heddle.fill 2 : i32 : !order
  %tokens = arith.divui %order, %two : !order
  %rows = heddle.gather %x at %tokens inverse %places : !x, !order, !chosen -> !rows
  %y = heddle.grouped_matmul %rows, %w groups(%starts) : !rows, tensor<32x6xf32>, tensor<9xi32> -> !wide
  %square = arith.mulf %y, %y : !wide
  %column = heddle.sum columns %square : !wide -> tensor<?xf32, #heddle.dims<"tokens*2">>
  %a = heddle.sum rows %column : tensor<?xf32, #heddle.dims<"tokens*2">> -> tensor<1xf32>
  %each = heddle.sum columns %picked : !picked -> tensor<?xf32, #heddle.dims<"tokens">>
  %b = heddle.sum rows %each : tensor<?xf32, #heddle.dims<"tokens">> -> tensor<1xf32>
  %loss = arith.addf %a, %b : tensor<1xf32>
  heddle.accumulate %loss
  return %loss : tensor<1xf32>
}
