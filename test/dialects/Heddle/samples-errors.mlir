// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @rows(%rows: tensor<?xi32, #heddle.dims<"others">>, %seed: tensor<2xi32>, %step: tensor<1xi32>) {
  // expected-error @+1 {{expects a number for each row of its result, whose columns are of a static number, got 'tensor<?xi32, #heddle.dims<"others">>' and 'tensor<?x8xf32, #heddle.dims<"tokens">>'}}
  %0 = heddle.gumbel %rows seed %seed step %step {stream = 0 : i32}
      : tensor<?xi32, #heddle.dims<"others">> to tensor<?x8xf32, #heddle.dims<"tokens">>
  return
}

// -----

func.func @columns(%rows: tensor<3xi32>, %seed: tensor<2xi32>, %step: tensor<1xi32>) {
  // expected-error @+1 {{expects a number for each row of its result, whose columns are of a static number, got 'tensor<3xi32>' and 'tensor<3x?xf32, #heddle.dims<"tokens">>'}}
  %0 = heddle.gumbel %rows seed %seed step %step {stream = 0 : i32} : tensor<3xi32> to tensor<3x?xf32, #heddle.dims<"tokens">>
  return
}

// -----

func.func @result(%rows: tensor<3xi32>, %seed: tensor<2xi32>, %step: tensor<1xi32>) {
  // expected-error @+1 {{result #0 must be 2D tensor of 32-bit float values}}
  %0 = heddle.gumbel %rows seed %seed step %step {stream = 0 : i32} : tensor<3xi32> to tensor<3x1x8xf32>
  return
}

// -----

func.func @numbers(%x: tensor<3xi32>) {
  // expected-error @+1 {{operand #0 must be ranked tensor of 32-bit float values}}
  %0 = heddle.stop_gradient %x : tensor<3xi32>
  return
}
