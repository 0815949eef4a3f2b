// The weights of matmuls and the tables of embeddings become packed numbers with scales.
// RUN: heddle-opt %s --heddle-quantize-weights=weights=int8 | FileCheck %s --check-prefixes=CHECK,INT8
// RUN: heddle-opt %s --heddle-quantize-weights=weights=int4:16 | FileCheck %s --check-prefixes=CHECK,INT4
// RUN: heddle-opt %s --heddle-quantize-weights='weights=int4:16 panel=8' | FileCheck %s --check-prefix=PANELS
// RUN: heddle-opt %s --heddle-quantize-weights='weights=int4:8 panel=8' | FileCheck %s --check-prefix=SHORT
// RUN: heddle-opt %s --heddle-quantize-weights='weights=int4:16 panel=16' | FileCheck %s --check-prefix=INT4
// Integers in groups of 32, or in one group, may have narrower panels.
// RUN: heddle-opt %s --heddle-quantize-weights='weights=int8 panel=16 integer-panel=8' | FileCheck %s --check-prefix=BYTES
// RUN: heddle-opt %s --heddle-quantize-weights='weights=int4:16 panel=16 integer-panel=8' | FileCheck %s --check-prefix=INT4
// BYTES: heddle.variable @down.weight weight : tensor<24x8xi32>
// BYTES-NEXT: heddle.variable @down.weight.scales weight of @down.weight as scales : tensor<1x24xf32>
// RUN: heddle-opt %s --heddle-quantize-weights=weights=int8 --heddle-derive-training | FileCheck %s --check-prefix=EVAL
// RUN: heddle-opt %s --heddle-quantize-weights=weights=bf16 --heddle-derive-training | FileCheck %s --check-prefixes=HALF,EVAL
// HALF: heddle.variable @table weight : tensor<10x24xbf16>
// HALF: heddle.variable @small.weight weight : tensor<4x24xf32>
// RUN: heddle-opt %s --heddle-quantize-weights='weights=bf16 panel=8' | FileCheck %s --check-prefix=HALFPANELS
// HALFPANELS: heddle.variable @table weight : tensor<10x24xbf16> {start
// HALFPANELS: heddle.variable @up.weight weight : tensor<24x32xbf16> {start
// HALFPANELS: heddle.variable @down.weight weight : tensor<96x8xbf16> {columns = 24 : i64, start
// HALFPANELS: %[[READ:.*]] = heddle.read @down.weight : tensor<96x8xbf16>
// HALFPANELS-NEXT: %[[JOINED:.*]] = heddle.join_panels %[[READ]] : tensor<96x8xbf16> -> tensor<32x24xbf16>
// HALFPANELS-NEXT: %[[WIDE:.*]] = arith.extf %[[JOINED]]
// HALFPANELS-NEXT: heddle.matmul %{{.*}}, %[[WIDE]]
// Weights in f32 have the same panels if no entry trains them, and start as before.
// RUN: heddle-opt %s --heddle-quantize-weights='weights=f32 panel=8' | FileCheck %s --check-prefix=FLOATPANELS
// RUN: heddle-opt %s --heddle-quantize-weights='weights=f32 panel=8 trains' | FileCheck %s --check-prefix=TRAINED
// FLOATPANELS: heddle.variable @table weight : tensor<10x24xf32> {start
// FLOATPANELS: heddle.variable @up.weight weight : tensor<24x32xf32> {start
// FLOATPANELS: heddle.variable @down.weight weight : tensor<96x8xf32> {columns = 24 : i64, start = #heddle.start<normal 5.000000e-01 : f64>}
// FLOATPANELS: %[[READ:.*]] = heddle.read @down.weight : tensor<96x8xf32>
// FLOATPANELS-NEXT: %[[JOINED:.*]] = heddle.join_panels %[[READ]] : tensor<96x8xf32> -> tensor<32x24xf32>
// FLOATPANELS-NEXT: heddle.matmul %{{.*}}, %[[JOINED]]
// TRAINED-NOT: join_panels
// RUN: heddle-opt %s --heddle-add-adapters='lora=rank=2,targets=up' --heddle-quantize-weights=weights=int8 --heddle-derive-training \
// RUN:   | FileCheck %s --check-prefix=LORA
// RUN: not heddle-opt %s --heddle-quantize-weights=weights=int5 2>&1 | FileCheck %s --check-prefix=FORMAT
// RUN: not heddle-opt %s --heddle-quantize-weights=weights=int4:12 2>&1 | FileCheck %s --check-prefix=GROUP
// FORMAT: error: heddle-quantize-weights: there is no format 'int5' of weights; there are f16, bf16, int8, int4, file (as a GGUF file has them) and f32
// GROUP: error: heddle-quantize-weights: a group of weights has a multiple of 8 of them, as in int4:32, got '12'

// A table is contracted along its columns, a weight along its rows. Ten rows of the table do not fill the last words.
// INT8: heddle.variable @table weight : tensor<3x24xi32>
// INT8-NEXT: heddle.variable @table.scales weight of @table as scales : tensor<10x1xf32>
// INT8-NEXT: heddle.variable @up.weight weight : tensor<6x32xi32>
// INT8-NEXT: heddle.variable @up.weight.scales weight of @up.weight as scales : tensor<1x32xf32>
// Groups of 16 divide 32 inputs. The largest groups that divide 24 inputs have 8.
// INT4: heddle.variable @table weight : tensor<2x24xi32>
// INT4-NEXT: heddle.variable @table.scales weight of @table as scales : tensor<10x3xf32>
// INT4-NEXT: heddle.variable @up.weight weight : tensor<3x32xi32>
// INT4-NEXT: heddle.variable @up.weight.scales weight of @up.weight as scales : tensor<3x32xf32>
// INT4-NEXT: heddle.variable @down.weight weight : tensor<4x24xi32>
// INT4-NEXT: heddle.variable @down.weight.scales weight of @down.weight as scales : tensor<2x24xf32>
// Three panels of 8 columns and 32 rows. @up.weight and @table have no panels: 24 rows are no whole steps, and a table
// is read row by row.
// PANELS: heddle.variable @table weight : tensor<2x24xi32>
// PANELS: heddle.variable @up.weight weight : tensor<3x32xi32>
// PANELS: heddle.variable @down.weight weight : tensor<12x8xi32>
// PANELS-NEXT: heddle.variable @down.weight.scales weight of @down.weight as scales : tensor<6x8xf32>
// PANELS: heddle.dequantize %{{.*}} : (tensor<12x8xi32>, tensor<6x8xf32>) -> tensor<32x24xf32>
// A step crosses groups of 8 rows.
// SHORT: heddle.variable @down.weight weight : tensor<4x24xi32>
// Small weights, and weights that are added, stay.
// CHECK: heddle.variable @small.weight weight : tensor<4x24xf32>
// CHECK: heddle.variable @bias weight : tensor<24xf32>
// CHECK: heddle.variable @added weight : tensor<10x24xf32>
// CHECK-LABEL: func.func private @logits
// CHECK: %[[WORDS:.*]] = heddle.read @table
// CHECK-NEXT: %[[SCALES:.*]] = heddle.read @table.scales
// CHECK-NEXT: %[[TABLE:.*]] = heddle.dequantize %[[WORDS]] scales(%[[SCALES]])
// CHECK: heddle.embedding %{{.*}}, %[[TABLE]]
// CHECK: %[[UP:.*]] = heddle.dequantize
// CHECK: heddle.matmul %{{.*}}, %[[UP]]

// Packed numbers are never trained.
// EVAL-NOT: func.func @train_step
// EVAL-NOT: first_moment
// EVAL: func.func @eval
// LORA: heddle.variable @table frozen : tensor<3x24xi32>
// LORA: heddle.variable @table.scales frozen of @table as scales
// LORA: heddle.variable @up.lora_a weight : tensor<24x2xf32>
// LORA: func.func @train_step

#targets = #heddle.dims<"target_tokens">
!rows = tensor<?x24xf32, #targets>
module attributes {heddle.description = "{}"} {
heddle.task "language" {beam = 1 : i64}
heddle.training {beta1 = 0.9 : f32, beta2 = 0.98 : f32, clip_norm = 0.0 : f32, epsilon = 1.0e-9 : f32}
heddle.size @target_tokens max 64
heddle.variable @step counter as steps : tensor<1xi32> {start = #heddle.start<constant 0.0>}
heddle.variable @seed counter as seed : tensor<2xi32>
heddle.variable @table weight : tensor<10x24xf32> {start = #heddle.start<normal 0.5>}
heddle.variable @up.weight weight : tensor<24x32xf32> {start = #heddle.start<normal 0.5>}
heddle.variable @down.weight weight : tensor<32x24xf32> {start = #heddle.start<normal 0.5>}
heddle.variable @small.weight weight : tensor<4x24xf32> {start = #heddle.start<normal 0.5>}
heddle.variable @bias weight : tensor<24xf32> {start = #heddle.start<constant 0.0>}
heddle.variable @added weight : tensor<10x24xf32> {start = #heddle.start<constant 0.0>}
func.func private @logits(%in: tensor<?xi32, #targets> {heddle.name = "target_in", heddle.limit = 10 : i64})
    -> (tensor<?x10xf32, #targets> {heddle.name = "logits"}) attributes {heddle.model} {
  %table = heddle.read @table : tensor<10x24xf32>
  %x = heddle.embedding %in, %table : tensor<?xi32, #targets>, tensor<10x24xf32> -> !rows
  %up = heddle.read @up.weight : tensor<24x32xf32>
  %h = heddle.matmul %x, %up : !rows, tensor<24x32xf32> -> tensor<?x32xf32, #targets>
  %down = heddle.read @down.weight : tensor<32x24xf32>
  %y = heddle.matmul %h, %down : tensor<?x32xf32, #targets>, tensor<32x24xf32> -> !rows
  %small = heddle.read @small.weight : tensor<4x24xf32>
  %few = heddle.matmul %y, %small {transpose_rhs} : !rows, tensor<4x24xf32> -> tensor<?x4xf32, #targets>
  %wide = heddle.matmul %few, %small : tensor<?x4xf32, #targets>, tensor<4x24xf32> -> !rows
  %b = heddle.read @bias : tensor<24xf32>
  %biases = heddle.broadcast %b : tensor<24xf32> to !rows
  %sum = arith.addf %wide, %biases : !rows
  %added = heddle.read @added : tensor<10x24xf32>
  %other = arith.addf %added, %added : tensor<10x24xf32>
  %logits = heddle.matmul %sum, %table {transpose_rhs} : !rows, tensor<10x24xf32> -> tensor<?x10xf32, #targets>
  return %logits : tensor<?x10xf32, #targets>
}
func.func private @loss(%logits: tensor<?x10xf32, #targets> {heddle.name = "logits"})
    -> (tensor<?xf32, #targets> {heddle.name = "token_loss"}) attributes {heddle.model} {
  %loss = heddle.sum columns %logits : tensor<?x10xf32, #targets> -> tensor<?xf32, #targets>
  return %loss : tensor<?xf32, #targets>
}
func.func private @rate(%step: tensor<1xf32> {heddle.name = "step"}) -> (tensor<1xf32> {heddle.name = "rate"}) attributes {heddle.model} {
  return %step : tensor<1xf32>
}
}
