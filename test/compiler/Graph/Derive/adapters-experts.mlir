// Adapters of experts: a grouped matmul with a matrix A and a matrix B for each expert, which stand one below the other.
// RUN: heddle-opt %s --heddle-add-adapters='lora=rank=2,alpha=6,targets=gate_proj,gate' | FileCheck %s
// RUN: heddle-opt %s --heddle-add-adapters='lora=rank=2,alpha=6,targets=gate_up_proj' | FileCheck %s --check-prefix=JOINED
// RUN: heddle-opt %s --heddle-add-adapters='lora=rank=2,alpha=6,targets=mlp.experts.2.gate_proj' | FileCheck %s --check-prefix=JOINED
// RUN: heddle-opt %s --heddle-add-adapters='lora=rank=2,alpha=6,targets=gate_proj' --heddle-derive-training --heddle-differentiate | FileCheck %s --check-prefix=TRAINS
// RUN: not heddle-opt %s --heddle-add-adapters='lora=targets=mlp.experts.x.gate_proj' 2>&1 | FileCheck %s --check-prefix=NUMBER
// NUMBER: error: no linear transformation of the model is called 'mlp.experts.x.gate_proj', which an adapter is to be for; the model has gates, router

// CHECK: heddle.variable @router frozen : tensor<4x3xf32>
// CHECK-NEXT: heddle.variable @router.lora_a weight : tensor<4x2xf32> {start = #heddle.start<uniform 5.000000e-01 : f64>}
// CHECK-NEXT: heddle.variable @router.lora_b weight : tensor<2x3xf32>
// CHECK: heddle.variable @gates frozen : tensor<12x8xf32>
// CHECK-NEXT: heddle.variable @gates.lora_a weight : tensor<12x2xf32> {start = #heddle.start<uniform 5.000000e-01 : f64>}
// CHECK-NEXT: heddle.variable @gates.lora_b weight : tensor<6x8xf32> {start = #heddle.start<constant 0.000000e+00 : f64>}
// CHECK: %[[A:.*]] = heddle.read @gates.lora_a
// CHECK: %[[B:.*]] = heddle.read @gates.lora_b
// CHECK: %[[Y:.*]] = heddle.grouped_matmul %[[X:.*]], %{{.*}} groups(%[[STARTS:.*]]) : {{.*}}tensor<12x8xf32>
// CHECK: %[[XA:.*]] = heddle.grouped_matmul %[[X]], %[[A]] groups(%[[STARTS]]) : {{.*}}tensor<12x2xf32>
// CHECK: %[[S:.*]] = heddle.fill 3.000000e+00
// CHECK: %[[SCALED:.*]] = arith.mulf %[[XA]], %[[S]]
// CHECK: %[[CHANGE:.*]] = heddle.grouped_matmul %[[SCALED]], %[[B]] groups(%[[STARTS]]) : {{.*}}tensor<6x8xf32>
// CHECK: arith.addf %[[Y]], %[[CHANGE]]

// JOINED-NOT: router.lora_a
// JOINED: heddle.variable @gates.lora_a weight : tensor<12x2xf32>

// TRAINS: heddle.variable @adam.m.gates.lora_b optimizer_state of @gates.lora_b as first_moment : tensor<6x8xf32>
// TRAINS-NOT: of @gates as
// TRAINS-LABEL: func.func @train_step
// TRAINS-NOT: groups({{.*}}) {transpose_lhs}{{.*}} -> tensor<12x8xf32>
// TRAINS: heddle.grouped_matmul {{.*}} {transpose_lhs} {{.*}} -> tensor<6x8xf32>
// TRAINS: heddle.grouped_matmul {{.*}} {transpose_lhs} {{.*}} -> tensor<12x2xf32>

#targets = #heddle.dims<"target_tokens">
module attributes {heddle.description = "{\"tensors\": {\"router\": {\"from\": [\"a.mlp.gate.weight\"], \"transpose\": true}, \"gates\": {\"from\": [\"a.mlp.experts.*.gate_proj.weight\"], \"transpose\": true, \"matrices\": 3, \"stack\": 3}}}"} {
heddle.task "language" {beam = 1 : i64}
heddle.training {beta1 = 0.9 : f32, beta2 = 0.98 : f32, clip_norm = 0.0 : f32, epsilon = 1.0e-9 : f32}
heddle.size @target_tokens max 64
heddle.variable @step counter as steps : tensor<1xi32> {start = #heddle.start<constant 0.0>}
heddle.variable @seed counter as seed : tensor<2xi32>
heddle.variable @table weight : tensor<10x4xf32> {start = #heddle.start<normal 0.5>}
heddle.variable @router weight : tensor<4x3xf32> {start = #heddle.start<normal 0.5>}
heddle.variable @gates weight : tensor<12x8xf32> {start = #heddle.start<normal 0.5>}
func.func private @logits(%in: tensor<?xi32, #targets> {heddle.name = "target_in", heddle.limit = 10 : i64})
    -> (tensor<?x8xf32, #targets> {heddle.name = "logits"}) attributes {heddle.model} {
  %table = heddle.read @table : tensor<10x4xf32>
  %x = heddle.embedding %in, %table : tensor<?xi32, #targets>, tensor<10x4xf32> -> tensor<?x4xf32, #targets>
  %router = heddle.read @router : tensor<4x3xf32>
  %scores = heddle.matmul %x, %router : tensor<?x4xf32, #targets>, tensor<4x3xf32> -> tensor<?x3xf32, #targets>
  %best, %chosen, %texts = heddle.top_k %scores : tensor<?x3xf32, #targets> -> tensor<?x1xf32, #targets>, tensor<?x1xi32, #targets>
  %counts = heddle.count_choices %chosen : tensor<?x1xi32, #targets> -> tensor<1x3xi32>
  %places, %order, %experts, %starts = heddle.dispatch %chosen, %counts : tensor<?x1xi32, #targets>, tensor<1x3xi32> -> tensor<?x1xi32, #targets>, tensor<?xi32, #targets>, tensor<4xi32>
  %rows = heddle.gather %x at %order inverse %places : tensor<?x4xf32, #targets>, tensor<?x1xi32, #targets>, tensor<?x1xi32, #targets> -> tensor<?x4xf32, #targets>
  %gates = heddle.read @gates : tensor<12x8xf32>
  %y = heddle.grouped_matmul %rows, %gates groups(%starts) : tensor<?x4xf32, #targets>, tensor<12x8xf32>, tensor<4xi32> -> tensor<?x8xf32, #targets>
  return %y : tensor<?x8xf32, #targets>
}
func.func private @loss(%logits: tensor<?x8xf32, #targets> {heddle.name = "logits"})
    -> (tensor<?xf32, #targets> {heddle.name = "token_loss"}) attributes {heddle.model} {
  %loss = heddle.sum columns %logits : tensor<?x8xf32, #targets> -> tensor<?xf32, #targets>
  return %loss : tensor<?xf32, #targets>
}
func.func private @rate(%step: tensor<1xf32> {heddle.name = "step"}) -> (tensor<1xf32> {heddle.name = "rate"}) attributes {heddle.model} {
  return %step : tensor<1xf32>
}
}
