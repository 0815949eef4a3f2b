// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s

// CHECK: heddle.size @source_tokens max 2048
heddle.size @source_tokens max 2048
// CHECK: heddle.size @source_length max 256 longest "source_lengths"
heddle.size @source_length max 256 longest "source_lengths"
// CHECK: heddle.size @stream max 0 fixed
heddle.size @stream max 0 fixed

// CHECK: heddle.size @chunk max 512 of @source_tokens from 1536
heddle.size @chunk max 512 of @source_tokens from 1536
// CHECK: heddle.size @few max 16 of @source_tokens from 1 within
heddle.size @few max 16 of @source_tokens from 1 within

// CHECK: heddle.variable @"encoder.0/w" weight : tensor<8x8xf32>
heddle.variable @"encoder.0/w" weight : tensor<8x8xf32>
heddle.variable @w weight : tensor<8xf32>
// CHECK: heddle.variable @adam.m.w optimizer_state of @w as first_moment : tensor<8xf32>
heddle.variable @adam.m.w optimizer_state of @w as first_moment : tensor<8xf32>
// CHECK: heddle.variable @adam.v.w optimizer_state of @w as second_moment : tensor<8xbf16>
heddle.variable @adam.v.w optimizer_state of @w as second_moment : tensor<8xbf16>
// CHECK: heddle.variable @grad.w gradient of @w as gradient : tensor<8xf32>
heddle.variable @grad.w gradient of @w as gradient : tensor<8xf32>
// CHECK: heddle.variable @gain weight : tensor<8xf32> {start = #heddle.start<constant 1.000000e+00 : f64>}
heddle.variable @gain weight : tensor<8xf32> {start = #heddle.start<constant 1.0>}
// CHECK: heddle.variable @drawn weight : tensor<8xf32> {start = #heddle.start<uniform 2.500000e-01 : f64>}
heddle.variable @drawn weight : tensor<8xf32> {start = #heddle.start<uniform 0.25>}

// The parts of a frozen weight are frozen.
heddle.variable @packed frozen : tensor<4x8xi32>
// CHECK: heddle.variable @packed.high frozen of @packed as high_bits : tensor<1x8xi32>
heddle.variable @packed.high frozen of @packed as high_bits : tensor<1x8xi32>
// CHECK: heddle.variable @packed.table frozen of @packed as table : tensor<1x16xf32>
heddle.variable @packed.table frozen of @packed as table : tensor<1x16xf32>
// CHECK: heddle.variable @packed.scales frozen of @packed as scales : tensor<1x8xbf16>
heddle.variable @packed.scales frozen of @packed as scales : tensor<1x8xbf16>
// CHECK: heddle.variable @packed.offsets frozen of @packed as offsets : tensor<1x8xbf16>
heddle.variable @packed.offsets frozen of @packed as offsets : tensor<1x8xbf16>

// CHECK: heddle.task "translate" {beam = 4 : i64, explain, logits_entry, padding = 3 : i64}
heddle.task "translate" {beam = 4 : i64, explain, logits_entry, padding = 3 : i64}
// CHECK: heddle.training {accumulate, {{.*}}loss_scale = 8.000000e+00 : f32, {{.*}}scale_interval = 5 : i64
heddle.training {accumulate, beta1 = 0.9 : f32, beta2 = 0.98 : f32, clip_norm = 0.0 : f32, epsilon = 1.0e-9 : f32,
                 loss_scale = 8.0 : f32, scale_interval = 5 : i64}

// CHECK: heddle.variable @step counter as steps : tensor<1xi32>
heddle.variable @step counter as steps : tensor<1xi32>
// CHECK: heddle.variable @cache.k cache : tensor<64x8xf32>
heddle.variable @cache.k cache : tensor<64x8xf32>

// CHECK: heddle.variable @left weight : tensor<4x8xf32> in @"encoder.0/w" from 4
heddle.variable @left weight : tensor<4x8xf32> in @"encoder.0/w" from 4

// CHECK-LABEL: func.func @views
func.func @views(%x: tensor<?x8xf32, #heddle.dims<"source_tokens">>, %row: tensor<8xf32>) -> tensor<?x8xf32, #heddle.dims<"source_tokens">> {
  // CHECK: %[[S:.*]] = heddle.slice %{{.*}} from 1536 : tensor<?x8xf32, #heddle.dims<"source_tokens">> to tensor<?x8xf32, #heddle.dims<"chunk">>
  %s = heddle.slice %x from 1536 : tensor<?x8xf32, #heddle.dims<"source_tokens">> to tensor<?x8xf32, #heddle.dims<"chunk">>
  // CHECK: heddle.concat %[[S]], %[[S]] : tensor<?x8xf32, #heddle.dims<"chunk">>, tensor<?x8xf32, #heddle.dims<"chunk">> to tensor<?x8xf32, #heddle.dims<"source_tokens">>
  %c = heddle.concat %s, %s : tensor<?x8xf32, #heddle.dims<"chunk">>, tensor<?x8xf32, #heddle.dims<"chunk">> to tensor<?x8xf32, #heddle.dims<"source_tokens">>
  // CHECK: %[[H:.*]] = heddle.reshape %{{.*}} : tensor<?x8xf32, #heddle.dims<"source_tokens">> to tensor<?x2x4xf32, #heddle.dims<"source_tokens">>
  %h = heddle.reshape %c : tensor<?x8xf32, #heddle.dims<"source_tokens">> to tensor<?x2x4xf32, #heddle.dims<"source_tokens">>
  // CHECK: heddle.reshape %{{.*}} : tensor<8xf32> to tensor<2x4xf32>
  %m = heddle.reshape %row : tensor<8xf32> to tensor<2x4xf32>
  return %c : tensor<?x8xf32, #heddle.dims<"source_tokens">>
}

// CHECK-LABEL: func.func @state
func.func @state() {
  // CHECK: %[[STEP:.*]] = heddle.read @step : tensor<1xi32>
  %step = heddle.read @step : tensor<1xi32>
  // CHECK: heddle.write @step, %[[STEP]] : tensor<1xi32>
  heddle.write @step, %step : tensor<1xi32>
  return
}

// CHECK-LABEL: func.func @training
// CHECK-SAME: %[[LOSS:.*]]: tensor<1xf32>
func.func @training(%loss: tensor<1xf32>) -> (tensor<1xf32>, tensor<1xf32>) {
  // CHECK: heddle.minimize %[[LOSS]] {
  // CHECK-SAME: rate {
  %0 = heddle.minimize %loss {beta1 = 0.9 : f32, beta2 = 0.98 : f32,
                              epsilon = 1.0e-9 : f32, clip_norm = 0.0 : f32} rate {
  ^bb0(%s: tensor<1xf32>):
    %peak = heddle.fill 7.0e-4 : f32 : tensor<1xf32>
    %warmup = heddle.fill 4000.0 : f32 : tensor<1xf32>
    %rise = arith.divf %s, %warmup : tensor<1xf32>
    %square = arith.divf %warmup, %s : tensor<1xf32>
    %fall = math.sqrt %square : tensor<1xf32>
    %operand = arith.minimumf %rise, %fall : tensor<1xf32>
    %r = arith.mulf %peak, %operand : tensor<1xf32>
    heddle.yield %r : tensor<1xf32>
  }
  // CHECK: heddle.accumulate %[[LOSS]]
  heddle.accumulate %loss
  // CHECK: heddle.apply {
  %1 = heddle.apply {beta1 = 0.9 : f32, beta2 = 0.98 : f32,
                     epsilon = 1.0e-9 : f32, clip_norm = 1.0 : f32} rate {
  ^bb0(%s: tensor<1xf32>):
    %peak = heddle.fill 7.0e-4 : f32 : tensor<1xf32>
    %warmup = heddle.fill 4000.0 : f32 : tensor<1xf32>
    %rise = arith.divf %s, %warmup : tensor<1xf32>
    %square = arith.divf %warmup, %s : tensor<1xf32>
    %fall = math.sqrt %square : tensor<1xf32>
    %operand = arith.minimumf %rise, %fall : tensor<1xf32>
    %r = arith.mulf %peak, %operand : tensor<1xf32>
    heddle.yield %r : tensor<1xf32>
  }
  return %0, %1 : tensor<1xf32>, tensor<1xf32>
}

// CHECK-LABEL: func.func @kernel
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32, #heddle.dims<"tokens">>
func.func @kernel(%x: tensor<?x8xf32, #heddle.dims<"tokens">>) -> tensor<?x8xf32, #heddle.dims<"tokens">> {
  // CHECK: heddle.kernel "double"(%[[X]] : tensor<?x8xf32, #heddle.dims<"tokens">>) -> tensor<?x8xf32, #heddle.dims<"tokens">> {
  // CHECK: heddle.yield %{{.*}} : tensor<?x8xf32, #heddle.dims<"tokens">>
  %0 = heddle.kernel "double" (%x : tensor<?x8xf32, #heddle.dims<"tokens">>) -> tensor<?x8xf32, #heddle.dims<"tokens">> {
  ^bb0(%a: tensor<?x8xf32, #heddle.dims<"tokens">>):
    %1 = arith.addf %a, %a : tensor<?x8xf32, #heddle.dims<"tokens">>
    heddle.yield %1 : tensor<?x8xf32, #heddle.dims<"tokens">>
  }
  return %0 : tensor<?x8xf32, #heddle.dims<"tokens">>
}
