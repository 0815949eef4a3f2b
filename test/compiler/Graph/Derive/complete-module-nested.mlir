// An optimizer in a nested module: the step's counter is placed at the end, because there is no function.
// RUN: heddle-opt %s --heddle-complete-module | FileCheck %s

module {
  module @inner {
    heddle.variable @w weight : tensor<1xf32>
    func.func @train() -> tensor<1xf32> {
      %w = heddle.read @w : tensor<1xf32>
      %rate = heddle.minimize %w {beta1 = 0.9 : f32, beta2 = 0.99 : f32, epsilon = 1.0e-8 : f32, clip_norm = 0.0 : f32} rate {
      ^bb0(%step: tensor<1xf32>):
        heddle.yield %step : tensor<1xf32>
      }
      return %rate : tensor<1xf32>
    }
  }
}
// CHECK: heddle.variable @step counter as steps
