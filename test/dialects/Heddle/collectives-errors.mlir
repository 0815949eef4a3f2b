// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @none() {
  // expected-error @+1 {{expects at least one tensor}}
  "heddle.all_reduce"() : () -> ()
  return
}

// -----

func.func @rows(%x: tensor<?x8xf32, #heddle.dims<"n">>) {
  // expected-error @+1 {{expects tensors of the same extents on all ranks, so static ones, got 'tensor<?x8xf32, #heddle.dims<"n">>'}}
  %0 = heddle.all_reduce %x : tensor<?x8xf32, #heddle.dims<"n">>
  return
}

// -----

func.func @integers(%x: tensor<8xi32>) {
  // expected-error @+1 {{must be variadic of ranked tensor of 32-bit float values, but got 'tensor<8xi32>'}}
  %0 = "heddle.all_reduce"(%x) : (tensor<8xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @types(%x: tensor<8xf32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<8xf32>' are incompatible with return type(s) of operation 'tensor<4xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = "heddle.all_reduce"(%x) : (tensor<8xf32>) -> tensor<4xf32>
  return
}
