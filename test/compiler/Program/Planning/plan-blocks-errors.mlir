// RUN: heddle-opt %s --heddle-plan=max-allocation=1024 --split-input-file --verify-diagnostics

// A tensor must fit in one block.
#g = #tile.grid<"", 1, 1>
tile.func @widen(%a: memref<1x256xf32>, %r: memref<1x512xf32>)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 1 : i64} { tile.return }
func.func @made(%x: tensor<256xf32> {heddle.name = "x"}) -> (tensor<512xf32> {heddle.name = "y"}) {
  // expected-error @+1 {{entry 'made' has a tensor of 2048 bytes, and at most 1024 are allocated at once: make batches or the model smaller, or raise --max-allocation if the device allocates more}}
  %a = tile.launch @widen(%x) grid [#g, #g, #g] sizes [] reuse [-1] : (tensor<256xf32>) -> tensor<512xf32>
  return %a : tensor<512xf32>
}

// -----

heddle.size @n max 300
// expected-error @+1 {{entry 'given' has a tensor of 1200 bytes, and at most 1024 are allocated at once}}
func.func @given(%x: tensor<?xf32, #heddle.dims<"n">> {heddle.name = "x"}) {
  return
}

// -----

// Each variable is an allocation, too. Views are parts of an allocation.
// expected-error @+1 {{variable 'both' has 2048 bytes, and at most 1024 are allocated at once: make batches or the model smaller, or raise --max-allocation}}
heddle.variable @both weight : tensor<512xf32>
heddle.variable @left weight : tensor<256xf32> in @both from 0
