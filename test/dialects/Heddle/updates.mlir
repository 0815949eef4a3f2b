// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --canonicalize --cse | FileCheck %s --check-prefix=SAME

// CHECK: heddle.optimizer "mine.weft" {parameters = {momentum = 9.000000e-01 : f64}, text = "update(w, g) { w - rate * g }"}
heddle.optimizer "mine.weft" {parameters = {momentum = 0.9}, text = "update(w, g) { w - rate * g }"}

// CHECK: heddle.training {{.*}}preference = "dpo", preference_beta = 1.000000e-01 : f32, preference_smoothing = 0.000000e+00 : f32, token_weights}
heddle.training {beta1 = 0.9 : f32, beta2 = 0.98 : f32, clip_norm = 0.0 : f32, epsilon = 1.0e-9 : f32, preference = "dpo",
                 preference_beta = 0.1 : f32, preference_smoothing = 0.0 : f32, token_weights}

// CHECK-LABEL: @momentum
// CHECK: %[[W:.*]], %[[M:.*]] = heddle.update %{{.*}}, %{{.*}} with %{{.*}}, %{{.*}} : tensor<8x4xf32>, tensor<1xf32> : tensor<8x4xf32>, tensor<8x4xf32> {
// CHECK: ^bb0(%{{.*}}: tensor<8x4xf32>, %{{.*}}: tensor<8x4xf32>, %{{.*}}: tensor<8x4xf32>, %{{.*}}: tensor<1xf32>):
// CHECK: heddle.yield %{{.*}}, %{{.*}} : tensor<8x4xf32>, tensor<8x4xf32>
// CHECK: return %[[W]], %[[M]]
// An unused update is erased, and equal updates become one.
// SAME-LABEL: @momentum
// SAME: %[[W:.*]], %[[M:.*]] = heddle.update
// SAME-NOT: heddle.update
// SAME: return %[[W]], %[[M]]
func.func @momentum(%w: tensor<8x4xf32>, %g: tensor<8x4xf32>, %m: tensor<8x4xf32>, %rate: tensor<1xf32>)
    -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %w2, %m2 = heddle.update %w, %g with %m, %rate : tensor<8x4xf32>, tensor<1xf32> : tensor<8x4xf32>, tensor<8x4xf32> {
  ^bb0(%weight: tensor<8x4xf32>, %gradient: tensor<8x4xf32>, %state: tensor<8x4xf32>, %number: tensor<1xf32>):
    %sum = arith.addf %state, %gradient : tensor<8x4xf32>
    %rates = heddle.broadcast %number : tensor<1xf32> to tensor<8x4xf32>
    %step = arith.mulf %sum, %rates : tensor<8x4xf32>
    %next = arith.subf %weight, %step : tensor<8x4xf32>
    heddle.yield %next, %sum : tensor<8x4xf32>, tensor<8x4xf32>
  }
  %unused = heddle.update %w, %g : tensor<8x4xf32> {
  ^bb0(%weight: tensor<8x4xf32>, %gradient: tensor<8x4xf32>):
    heddle.yield %gradient : tensor<8x4xf32>
  }
  return %w2, %m2 : tensor<8x4xf32>, tensor<8x4xf32>
}

// CHECK-LABEL: @plain
// CHECK: heddle.update %{{.*}}, %{{.*}} : tensor<4xf32> {
func.func @plain(%w: tensor<4xf32>, %g: tensor<4xf32>) -> tensor<4xf32> {
  %w2 = heddle.update %w, %g : tensor<4xf32> {
  ^bb0(%weight: tensor<4xf32>, %gradient: tensor<4xf32>):
    %next = arith.subf %weight, %gradient : tensor<4xf32>
    heddle.yield %next : tensor<4xf32>
  }
  return %w2 : tensor<4xf32>
}
