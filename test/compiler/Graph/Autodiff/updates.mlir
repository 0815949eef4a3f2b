// The optimizer of a text: its function is inlined between clipping and the writes.
// RUN: heddle-opt %s --heddle-differentiate | FileCheck %s
// RUN: sed 's/clip_norm = 0.5/clip_norm = 0.0/' %s | heddle-opt --heddle-differentiate | FileCheck %s --check-prefix=PLAIN
// RUN: sed 's/clip_norm = 0.5 : f32/clip_norm = 0.0 : f32, scale_interval = 10 : i64/' %s | heddle-opt --heddle-differentiate | FileCheck %s --check-prefix=SCALED

heddle.variable @step counter as steps : tensor<1xi32>
heddle.variable @loss_scale optimizer_state as loss_scale : tensor<1xf32>
heddle.variable @good_steps counter as good_steps : tensor<1xi32>
heddle.variable @skipped_steps counter as skipped_steps : tensor<1xi32>
// CHECK: heddle.variable @w weight : tensor<2x3xf32>{{$}}
heddle.variable @w weight : tensor<2x3xf32> {heddle.update = @rule}
heddle.variable @optimizer.m.w optimizer_state : tensor<2x3xf32>
heddle.variable @ema.w optimizer_state of @w as average : tensor<2x3xf32>

// CHECK-NOT: @rule
func.func private @rule(%w: tensor<2x3xf32> {heddle.name = "weight"}, %g: tensor<2x3xf32> {heddle.name = "gradient"},
                        %m: tensor<2x3xf32> {heddle.name = "m"}, %rate: tensor<1xf32> {heddle.name = "rate"},
                        %step: tensor<1xf32> {heddle.name = "step"})
    -> (tensor<2x3xf32> {heddle.name = "new_weight"}, tensor<2x3xf32> {heddle.name = "new_m"}) attributes {heddle.update} {
  %new = arith.addf %m, %g : tensor<2x3xf32>
  %rates = heddle.broadcast %rate : tensor<1xf32> to tensor<2x3xf32>
  %by = arith.mulf %new, %rates : tensor<2x3xf32>
  %next = arith.subf %w, %by : tensor<2x3xf32>
  return %next, %new : tensor<2x3xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: @train
// CHECK: %[[W:.*]] = heddle.read @w
// CHECK: %[[M:.*]] = heddle.read @optimizer.m.w
// CHECK: %[[A:.*]] = heddle.read @ema.w
// CHECK: %[[NEXT:.*]], %[[STATES:.*]]:2 = heddle.update %[[W]], %{{.*}} with %[[M]], %[[A]], %{{.*}}, %{{.*}}, %{{.*}} :
// CHECK: ^bb0(%{{.*}}, %[[G:.*]]: tensor<2x3xf32>, %[[OLD:.*]]: tensor<2x3xf32>, %{{.*}}: tensor<2x3xf32>, %{{.*}}: tensor<1xf32>, %{{.*}}: tensor<1xf32>, %[[SCALE:.*]]: tensor<1xf32>):
// CHECK: %[[WIDE:.*]] = heddle.broadcast %[[SCALE]]
// CHECK: %[[CLIPPED:.*]] = arith.mulf %[[G]], %[[WIDE]]
// CHECK: arith.addf %[[OLD]], %[[CLIPPED]]
// CHECK: heddle.yield
// CHECK-DAG: heddle.write @w, %[[NEXT]]
// CHECK-DAG: heddle.write @optimizer.m.w, %[[STATES]]#0
// CHECK-DAG: heddle.write @ema.w, %[[STATES]]#1
// Without clipping there is no scale.
// PLAIN: ^bb0(%{{.*}}: tensor<2x3xf32>, %[[G:.*]]: tensor<2x3xf32>, %[[OLD:.*]]: tensor<2x3xf32>, %{{.*}}: tensor<2x3xf32>, %{{.*}}: tensor<1xf32>, %{{.*}}: tensor<1xf32>):
// PLAIN-NEXT: arith.addf %[[OLD]], %[[G]]
// A step whose gradients overflow changes nothing.
// SCALED: heddle.update
// SCALED-COUNT-3: arith.select
// SCALED-NEXT: heddle.yield
func.func @train(%x: tensor<2x3xf32> {heddle.name = "x"}) -> (tensor<1xf32> {heddle.name = "rate"}) {
  %w = heddle.read @w : tensor<2x3xf32>
  %p = arith.mulf %w, %x : tensor<2x3xf32>
  %r = heddle.sum rows %p : tensor<2x3xf32> -> tensor<3xf32>
  %loss = heddle.sum columns %r : tensor<3xf32> -> tensor<1xf32>
  %used = heddle.minimize %loss {average_decay = 0.9 : f32, beta1 = 0.9 : f32, beta2 = 0.98 : f32, clip_norm = 0.5 : f32, epsilon = 1.0e-9 : f32} rate {
  ^bb0(%count: tensor<1xf32>):
    heddle.yield %count : tensor<1xf32>
  }
  return %used : tensor<1xf32>
}
