// RUN: heddle-opt %s --heddle-derive-training --split-input-file --verify-diagnostics

heddle.task "language" {beam = 1 : i64}
// expected-error @+1 {{trains a model that has no function 'logits'}}
heddle.training {beta1 = 0.9 : f32, beta2 = 0.98 : f32, clip_norm = 0.0 : f32, epsilon = 1.0e-9 : f32, peak = 1.0e-3 : f32, warmup = 10 : i64}
