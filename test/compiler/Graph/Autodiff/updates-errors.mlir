// RUN: heddle-opt %s --heddle-differentiate --split-input-file --verify-diagnostics

heddle.variable @step counter as steps : tensor<1xi32>
// expected-error @+1 {{@w has no function @rule that updates a 'tensor<3xf32>'}}
heddle.variable @w weight : tensor<3xf32> {heddle.update = @rule}

func.func @train(%x: tensor<3xf32> {heddle.name = "x"}) -> (tensor<1xf32> {heddle.name = "rate"}) {
  %w = heddle.read @w : tensor<3xf32>
  %p = arith.mulf %w, %x : tensor<3xf32>
  %loss = heddle.sum columns %p : tensor<3xf32> -> tensor<1xf32>
  %used = heddle.minimize %loss {beta1 = 0.9 : f32, beta2 = 0.98 : f32, clip_norm = 0.0 : f32, epsilon = 1.0e-9 : f32} rate {
  ^bb0(%count: tensor<1xf32>):
    heddle.yield %count : tensor<1xf32>
  }
  return %used : tensor<1xf32>
}

// -----

heddle.variable @step counter as steps : tensor<1xi32>
// expected-error @+1 {{@w lacks its optimizer state @"optimizer.m.w", of type 'tensor<3xf32>'}}
heddle.variable @w weight : tensor<3xf32> {heddle.update = @rule}
heddle.variable @optimizer.m.w optimizer_state : tensor<4xf32>

func.func private @rule(%w: tensor<3xf32> {heddle.name = "weight"}, %g: tensor<3xf32> {heddle.name = "gradient"},
                        %m: tensor<3xf32> {heddle.name = "m"}, %rate: tensor<1xf32> {heddle.name = "rate"},
                        %step: tensor<1xf32> {heddle.name = "step"})
    -> (tensor<3xf32> {heddle.name = "new_weight"}, tensor<3xf32> {heddle.name = "new_m"}) attributes {heddle.update} {
  return %w, %m : tensor<3xf32>, tensor<3xf32>
}
func.func @train(%x: tensor<3xf32> {heddle.name = "x"}) -> (tensor<1xf32> {heddle.name = "rate"}) {
  %w = heddle.read @w : tensor<3xf32>
  %p = arith.mulf %w, %x : tensor<3xf32>
  %loss = heddle.sum columns %p : tensor<3xf32> -> tensor<1xf32>
  %used = heddle.minimize %loss {beta1 = 0.9 : f32, beta2 = 0.98 : f32, clip_norm = 0.0 : f32, epsilon = 1.0e-9 : f32} rate {
  ^bb0(%count: tensor<1xf32>):
    heddle.yield %count : tensor<1xf32>
  }
  return %used : tensor<1xf32>
}
