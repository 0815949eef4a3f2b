// Adapters of low rank beside the named weights. All weights of the base are frozen.
// RUN: heddle-opt %s --heddle-add-adapters='lora=rank=2,alpha=6,targets=query' | FileCheck %s
// RUN: heddle-opt %s --heddle-add-adapters='lora=targets=query,rank=2,alpha=6' --heddle-derive-training | FileCheck %s --check-prefix=STATE
// RUN: not heddle-opt %s --heddle-add-adapters='lora=rank=2' 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not heddle-opt %s --heddle-add-adapters='lora=rang=2' 2>&1 | FileCheck %s --check-prefix=KEY
// TARGET: error: no linear transformation of the model is called 'value', which an adapter is to be for; the model has key, query
// KEY: error: heddle-add-adapters: there is no 'rang'; the keys are rank, alpha, dropout, targets and modules_to_save
// RUN: heddle-opt %s --heddle-add-adapters='lora=rank=2,alpha=6,dropout=0.25,targets=query,key' --split-input-file | FileCheck %s --check-prefix=DROP
// RUN: heddle-opt %s --heddle-add-adapters='lora=rank=2,alpha=6,dropout=0.25,targets=query' --heddle-derive-training --heddle-derive-evaluation | FileCheck %s --check-prefix=ENTRIES
// RUN: not heddle-opt %s --heddle-add-adapters='lora=dropout=1' 2>&1 | FileCheck %s --check-prefix=RATE
// RUN: heddle-opt %s --heddle-add-adapters='lora=rank=2,alpha=6,targets=query,modules_to_save=table' --heddle-derive-training | FileCheck %s --check-prefix=SAVED
// RUN: not heddle-opt %s --heddle-add-adapters='lora=targets=query,modules_to_save=table,tables' 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not heddle-opt %s --heddle-add-adapters='lora=targets=query,key,modules_to_save=layer.key' 2>&1 | FileCheck %s --check-prefix=BOTH
// NAME: error: no weight of the model belongs to 'tables', which modules_to_save names
// BOTH: error: {{.*}}is to have an adapter, and to be trained whole: targets and modules_to_save name it
// RATE: error: heddle-add-adapters: dropout expects a number from 0 to below 1, got '1'

// A saved part stays a weight, and has moments.
// SAVED: modules_to_save\22:[\22table\22]
// SAVED: heddle.variable @table weight
// SAVED: heddle.variable @adam.m.table optimizer_state of @table
// SAVED: heddle.variable @layer.query.weight frozen
// SAVED: heddle.variable @layer.key.weight frozen

// Each adapter applies dropout to its input with a mask of its own. W reads the whole input.
// DROP: adapter\22:{\22alpha\22:6,\22dropout\22:0.25,\22rank\22:2
// DROP: %[[X:.*]] = heddle.embedding
// DROP: heddle.matmul %[[X]], %{{.*}} : {{.*}}tensor<4x3xf32>
// DROP: %[[FIRST:.*]] = heddle.dropout %[[X]] seed %{{.*}} step %{{.*}} {rate = 2.500000e-01 : f32, stream = 0 : i32}
// DROP: heddle.matmul %[[FIRST]], %{{.*}} : {{.*}}tensor<4x2xf32>
// DROP: heddle.matmul %[[X]], %{{.*}} : {{.*}}tensor<4x3xf32>
// DROP: %[[SECOND:.*]] = heddle.dropout %[[X]] seed %{{.*}} step %{{.*}} {rate = 2.500000e-01 : f32, stream = 1 : i32}
// DROP: heddle.matmul %[[SECOND]], %{{.*}} : {{.*}}tensor<4x2xf32>

// The adapter's gradient uses the same mask. Other entries have no dropout.
// ENTRIES-LABEL: func.func @train_step
// ENTRIES: heddle.dropout {{.*}}stream = 0
// ENTRIES-LABEL: func.func @eval
// ENTRIES-NOT: heddle.dropout

// CHECK: adapter\22:{\22alpha\22:6,\22rank\22:2,\22targets\22:[\22query\22]}
// CHECK: heddle.variable @table frozen
// CHECK: heddle.variable @layer.query.weight frozen : tensor<4x3xf32>
// CHECK-NEXT: heddle.variable @layer.query.lora_a weight : tensor<4x2xf32> {start = #heddle.start<uniform 5.000000e-01 : f64>}
// CHECK-NEXT: heddle.variable @layer.query.lora_b weight : tensor<2x3xf32> {start = #heddle.start<constant 0.000000e+00 : f64>}
// CHECK: heddle.variable @layer.key.weight frozen : tensor<4x3xf32>
// CHECK-NOT: lora
// CHECK-LABEL: func.func private @logits
// CHECK: %[[X:.*]] = heddle.embedding
// CHECK: %[[W:.*]] = heddle.read @layer.query.weight
// CHECK: %[[A:.*]] = heddle.read @layer.query.lora_a
// CHECK: %[[B:.*]] = heddle.read @layer.query.lora_b
// CHECK: %[[Y:.*]] = heddle.matmul %[[X]], %[[W]]
// CHECK: %[[XA:.*]] = heddle.matmul %[[X]], %[[A]]
// CHECK: %[[S:.*]] = heddle.fill 3.000000e+00
// CHECK: %[[SCALED:.*]] = arith.mulf %[[XA]], %[[S]]
// CHECK: %[[CHANGE:.*]] = heddle.matmul %[[SCALED]], %[[B]]
// CHECK: %[[SUM:.*]] = arith.addf %[[Y]], %[[CHANGE]]
// CHECK: %[[K:.*]] = heddle.matmul %[[X]], %{{.*}}
// CHECK: arith.addf %[[SUM]], %[[K]]

// Training keeps moments only of adapters.
// STATE-NOT: of @layer.query.weight
// STATE-NOT: of @table
// STATE: heddle.variable @adam.m.layer.query.lora_a optimizer_state of @layer.query.lora_a as first_moment : tensor<4x2xf32>
// STATE-NOT: of @layer.key.weight
// STATE: func.func @train_step

#targets = #heddle.dims<"target_tokens">
module attributes {heddle.description = "{}"} {
heddle.task "language" {beam = 1 : i64}
heddle.training {beta1 = 0.9 : f32, beta2 = 0.98 : f32, clip_norm = 0.0 : f32, epsilon = 1.0e-9 : f32}
heddle.size @target_tokens max 64
heddle.variable @step counter as steps : tensor<1xi32> {start = #heddle.start<constant 0.0>}
heddle.variable @seed counter as seed : tensor<2xi32>
heddle.variable @table weight : tensor<10x4xf32> {start = #heddle.start<normal 0.5>}
heddle.variable @layer.query.weight weight : tensor<4x3xf32> {start = #heddle.start<normal 0.5>}
heddle.variable @layer.key.weight weight : tensor<4x3xf32> {start = #heddle.start<normal 0.5>}
func.func private @logits(%in: tensor<?xi32, #targets> {heddle.name = "target_in", heddle.limit = 10 : i64})
    -> (tensor<?x3xf32, #targets> {heddle.name = "logits"}) attributes {heddle.model} {
  %table = heddle.read @table : tensor<10x4xf32>
  %x = heddle.embedding %in, %table : tensor<?xi32, #targets>, tensor<10x4xf32> -> tensor<?x4xf32, #targets>
  %w = heddle.read @layer.query.weight : tensor<4x3xf32>
  %y = heddle.matmul %x, %w : tensor<?x4xf32, #targets>, tensor<4x3xf32> -> tensor<?x3xf32, #targets>
  %v = heddle.read @layer.key.weight : tensor<4x3xf32>
  %k = heddle.matmul %x, %v : tensor<?x4xf32, #targets>, tensor<4x3xf32> -> tensor<?x3xf32, #targets>
  %sum = arith.addf %y, %k : tensor<?x3xf32, #targets>
  return %sum : tensor<?x3xf32, #targets>
}
func.func private @loss(%logits: tensor<?x3xf32, #targets> {heddle.name = "logits"})
    -> (tensor<?xf32, #targets> {heddle.name = "token_loss"}) attributes {heddle.model} {
  %loss = heddle.sum columns %logits : tensor<?x3xf32, #targets> -> tensor<?xf32, #targets>
  return %loss : tensor<?xf32, #targets>
}
func.func private @rate(%step: tensor<1xf32> {heddle.name = "step"}) -> (tensor<1xf32> {heddle.name = "rate"}) attributes {heddle.model} {
  return %step : tensor<1xf32>
}
}
