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

// -----

heddle.variable @w weight : tensor<8x16xf32>
heddle.variable @adam.m.w optimizer_state of @w as first_moment : tensor<8x16xf32> {sharded}

func.func @many(%x: tensor<8x16xf32>) {
  // expected-error @+1 {{expects at least one tensor, and a sharded variable for each, got 1 and 2}}
  %0 = heddle.all_gather %x as [@adam.m.w, @adam.m.w] : tensor<8x16xf32>
  return
}

// -----

heddle.variable @w weight : tensor<8x16xf32>

func.func @whole(%x: tensor<8x16xf32>) {
  // expected-error @+1 {{expects @w to be a sharded variable of the shape of 'tensor<8x16xf32>'}}
  %0 = heddle.all_gather %x as [@w] : tensor<8x16xf32>
  return
}

// -----

heddle.variable @w weight : tensor<8x16xf32>
heddle.variable @adam.m.w optimizer_state of @w as first_moment : tensor<8x16xf32> {sharded}

func.func @other_type(%x: tensor<4x16xf32>) {
  // expected-error @+1 {{expects @adam.m.w to be a sharded variable of the shape of 'tensor<4x16xf32>'}}
  %0 = heddle.all_gather %x as [@adam.m.w] : tensor<4x16xf32>
  return
}

// -----

heddle.variable @w weight : tensor<8x16xf32>
heddle.variable @adam.m.w optimizer_state of @w as first_moment : tensor<8x16xf32> {sharded}

func.func @many(%x: tensor<8x16xf32>) {
  // expected-error @+1 {{expects at least one tensor, and a sharded variable for each, got 1 and 2}}
  %0 = heddle.reduce_scatter %x as [@adam.m.w, @adam.m.w] : tensor<8x16xf32>
  return
}

// -----

heddle.variable @w weight : tensor<8x16xf32>

func.func @whole(%x: tensor<8x16xf32>) {
  // expected-error @+1 {{expects @w to be a sharded variable of the shape of 'tensor<8x16xf32>'}}
  %0 = heddle.reduce_scatter %x as [@w] : tensor<8x16xf32>
  return
}

// -----

heddle.variable @w weight : tensor<8x16xf32>
heddle.variable @adam.m.w optimizer_state of @w as first_moment : tensor<8x16xf32> {sharded}

func.func @other_type(%x: tensor<4x16xf32>) {
  // expected-error @+1 {{expects @adam.m.w to be a sharded variable of the shape of 'tensor<4x16xf32>'}}
  %0 = heddle.reduce_scatter %x as [@adam.m.w] : tensor<4x16xf32>
  return
}

// -----

// expected-error @+1 {{@w is sharded, and so should be optimizer_state of f32 or bf16 with memory of its own, a multiple of 64 numbers}}
heddle.variable @w weight : tensor<8x16xf32> {sharded}

// -----

heddle.variable @w weight : tensor<8x16xf32>
heddle.variable @adam.m.w optimizer_state of @w as first_moment : tensor<8x16xf32>
heddle.variable @part weight : tensor<4x16xf32>
// expected-error @+1 {{@adam.m.part is sharded, and so should be optimizer_state of f32 or bf16 with memory of its own, a multiple of 64 numbers}}
heddle.variable @adam.m.part optimizer_state of @part as first_moment : tensor<4x16xf32> in @adam.m.w from 4 {sharded}

// -----

heddle.variable @w weight : tensor<8x12xf32>
// expected-error @+1 {{@adam.m.w is sharded, and so should be optimizer_state of f32 or bf16 with memory of its own, a multiple of 64 numbers}}
heddle.variable @adam.m.w optimizer_state of @w as first_moment : tensor<8x12xf32> {sharded}

// -----

heddle.variable @w weight : tensor<8x8xf32>
// expected-error @+1 {{@adam.m.w is sharded, and so should be optimizer_state of f32 or bf16 with memory of its own, a multiple of 128 numbers}}
heddle.variable @adam.m.w optimizer_state of @w as first_moment : tensor<8x8xbf16> {sharded}
