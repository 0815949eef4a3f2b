// RUN: heddle-opt %s --split-input-file --verify-diagnostics --heddle-complete-module

func.func @f(%x: tensor<8xf32> {heddle.name = "x"}) -> (tensor<8xf32> {heddle.name = "y"}) {
  // expected-error @+1 {{calls @elsewhere, which has no body to be inlined}}
  %y = func.call @elsewhere(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}
func.func private @elsewhere(tensor<8xf32>) -> tensor<8xf32>

// -----

func.func @f(%x: tensor<8xf32> {heddle.name = "x"}) -> (tensor<8xf32> {heddle.name = "y"}) {
  %y = func.call @again(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}
func.func private @again(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{calls @again, which is being inlined}}
  %y = func.call @again(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

func.func @f(%x: tensor<8xf32> {heddle.name = "x"}) -> (tensor<8xf32> {heddle.name = "y"}) {
  %a = func.call @noise() : () -> tensor<8xf32>
  // expected-error @+1 {{calls @noise a second time, whose random numbers would be those of the first call}}
  %b = func.call @noise() : () -> tensor<8xf32>
  %y = arith.addf %a, %b : tensor<8xf32>
  return %y : tensor<8xf32>
}
heddle.variable @seed counter as seed : tensor<2xi32>
func.func private @noise() -> tensor<8xf32> {
  %seed = heddle.read @seed : tensor<2xi32>
  %numbers = heddle.random normal %seed {scale = 1.0 : f32, stream = 0 : i32} : tensor<8xf32>
  return %numbers : tensor<8xf32>
}
