// RUN: heddle-opt %s --heddle-plan --split-input-file --verify-diagnostics

#g = #tile.grid<"", 1, 1>
heddle.variable @v weight : tensor<8192xf32>
tile.func @copy(%a: memref<1x8192xf32>, %r: memref<1x8192xf32>)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 1 : i64} { tile.return }
tile.func @add(%a: memref<1x8192xf32>, %b: memref<1x8192xf32>, %r: memref<1x8192xf32>)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 1 : i64} { tile.return }
// The second launch needs both values.
func.func @both() -> (tensor<8192xf32> {heddle.name = "y"}) {
  %v = heddle.read @v : tensor<8192xf32>
  %a = tile.launch @copy(%v) grid [#g, #g, #g] sizes [] reuse [0] : (tensor<8192xf32>) -> tensor<8192xf32>
  %b = tile.launch @add(%a, %v) grid [#g, #g, #g] sizes [] reuse [-1] : (tensor<8192xf32>, tensor<8192xf32>) -> tensor<8192xf32>
  // expected-error @+1 {{entry 'both' needs the old value of variable 'v' after the new value: add an op that copies it}}
  heddle.write @v, %a : tensor<8192xf32>
  return %b : tensor<8192xf32>
}

// -----

#g = #tile.grid<"", 1, 1>
heddle.variable @v weight : tensor<8xf32>
tile.func @shift(%a: memref<1x8xf32>, %r: memref<1x8xf32>)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 1 : i64} { tile.return }
func.func @elsewhere() {
  %v = heddle.read @v : tensor<8xf32>
  %a = tile.launch @shift(%v) grid [#g, #g, #g] sizes [] reuse [-1] : (tensor<8xf32>) -> tensor<8xf32>
  // expected-error @+1 {{entry 'elsewhere' gives variable 'v' a value that would need a copy kernel: the old value is still needed when the new one is written}}
  heddle.write @v, %a : tensor<8xf32>
  return
}

// -----

heddle.variable @v weight : tensor<8xf32>
func.func @argument(%x: tensor<8xf32> {heddle.name = "x"}) {
  // expected-error @+1 {{entry 'argument' gives variable 'v' a value that would need a copy kernel: the value is an argument or another variable, or a part of these}}
  heddle.write @v, %x : tensor<8xf32>
  return
}

// -----

heddle.variable @v weight : tensor<8xf32>
// expected-error @+1 {{entry 'reader' returns variable 'v', which would need a copy kernel}}
func.func @reader() -> (tensor<8xf32> {heddle.name = "y"}) {
  %v = heddle.read @v : tensor<8xf32>
  return %v : tensor<8xf32>
}

// -----

#g = #tile.grid<"", 1, 1>
heddle.variable @v weight : tensor<8xf32>
tile.func @scatter(%a: memref<1x8xf32>, %r: memref<1x8xf32>)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 1 : i64} { tile.return }
func.func @keeps() -> (tensor<8xf32> {heddle.name = "y"}) {
  %v = heddle.read @v : tensor<8xf32>
  // expected-error @+1 {{entry 'keeps': @scatter changes its input in place, but the input is still needed, or is a variable that keeps its value: add an op that copies it}}
  %a = tile.launch @scatter(%v) grid [#g, #g, #g] sizes [] reuse [0] {inplace} : (tensor<8xf32>) -> tensor<8xf32>
  return %a : tensor<8xf32>
}

// -----

// expected-error @+1 {{argument 0 of entry 'nameless' has no heddle.name}}
func.func @nameless(%x: tensor<8xf32>) {
  return
}

// -----

// expected-error @+1 {{dimension 0 of 'tensor<?xf32, #heddle.dims<"n">>' is named after no heddle.size}}
func.func @unbounded(%x: tensor<?xf32, #heddle.dims<"n">> {heddle.name = "x"}) {
  return
}

// -----

func.func @graph(%x: tensor<8xf32> {heddle.name = "x"}) -> (tensor<8xf32> {heddle.name = "y"}) {
  // expected-error @+1 {{cannot be planned: entry 'graph' may hold reads, writes and launches only}}
  %y = arith.addf %x, %x : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// Parts that no launch computes would have to be copied to their places.
#g = #tile.grid<"", 1, 1>
func.func @copied(%x: tensor<8xf32> {heddle.name = "x"}) -> (tensor<16xf32> {heddle.name = "y"}) {
  // expected-error @+1 {{entry 'copied' concatenates a value that would need a copy kernel: the value is not a launch's result, or is also part of another tensor}}
  %y = heddle.concat %x, %x : tensor<8xf32>, tensor<8xf32> to tensor<16xf32>
  return %y : tensor<16xf32>
}

// -----

heddle.size @n max 20
heddle.size @last max 8 of @n from 8
func.func @beyond(%x: tensor<?x4xf32, #heddle.dims<"n">> {heddle.name = "x"}) -> (tensor<?x4xf32, #heddle.dims<"last">> {heddle.name = "y"}) {
  // expected-error @+1 {{entry 'beyond' takes rows from 16 to 24 of 'tensor<?x4xf32, #heddle.dims<"n">>', which has not as many}}
  %y = heddle.slice %x from 16 : tensor<?x4xf32, #heddle.dims<"n">> to tensor<?x4xf32, #heddle.dims<"last">>
  return %y : tensor<?x4xf32, #heddle.dims<"last">>
}

// -----

// With all sizes at their maxima the parts are as long as the whole.
#g = #tile.grid<"", 1, 1>
heddle.size @n max 20
heddle.size @first max 8 of @n from 0
tile.func @make(%r: memref<?x4xf32>, %n: index) attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} { tile.return }
func.func @short() -> (tensor<?x4xf32, #heddle.dims<"n">> {heddle.name = "y"}) {
  %a = tile.launch @make() grid [#g, #g, #g] sizes ["first"] reuse [-1] : () -> tensor<?x4xf32, #heddle.dims<"first">>
  // expected-error @+1 {{entry 'short' concatenates 128 bytes to 320}}
  %y = heddle.concat %a : tensor<?x4xf32, #heddle.dims<"first">> to tensor<?x4xf32, #heddle.dims<"n">>
  return %y : tensor<?x4xf32, #heddle.dims<"n">>
}

// -----

// A variable is read under one name after a write to the same memory under another name.
#g = #tile.grid<"", 1, 1>
heddle.variable @both weight : tensor<16xf32>
heddle.variable @left weight : tensor<8xf32> in @both from 0
tile.func @make(%r: memref<1x8xf32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} { tile.return }
func.func @stale() -> (tensor<16xf32> {heddle.name = "y"}) {
  %a = tile.launch @make() grid [#g, #g, #g] sizes [] reuse [-1] : () -> tensor<8xf32>
  heddle.write @left, %a : tensor<8xf32>
  // expected-error @+1 {{entry 'stale' reads variable 'both' after it has written 'left', which shares its memory}}
  %y = heddle.read @both : tensor<16xf32>
  return %y : tensor<16xf32>
}

// -----

// expected-error @+1 {{launches take tensors of f32, bf16, f16, i32 or i1, with one to three dimensions of at least one element each, got 'tensor<8xindex>'}}
func.func @index(%x: tensor<8xindex> {heddle.name = "x"}) -> (tensor<8xindex> {heddle.name = "y"}) {
  return %x : tensor<8xindex>
}

// -----

// A size that is always 0 cannot be the extent of a tensor.
heddle.size @n max 8
heddle.size @none max 0 fixed
func.func @no_rows(%x: tensor<?x4xf32, #heddle.dims<"n">> {heddle.name = "x"}) {
  // expected-error @+1 {{dimension 0 of 'tensor<?x4xf32, #heddle.dims<"none">>' is named after no heddle.size above 0}}
  %0 = heddle.slice %x from 0 : tensor<?x4xf32, #heddle.dims<"n">> to tensor<?x4xf32, #heddle.dims<"none">>
  return
}

// -----

#g = #tile.grid<"", 1, 1>
tile.func @copy(%a: memref<4x4xf32>, %r: memref<4x4xf32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} { tile.return }
func.func @part_of_no_variable(%x: tensor<4x4xf32> {heddle.name = "x"}) -> (tensor<4x4xf32> {heddle.name = "y"}) {
  // expected-error @+1 {{is done by each rank for its part, and changes no sharded variable}}
  %a = tile.launch @copy(%x) grid [#g, #g, #g] sizes [] reuse [-1] {shard = array<i64: 0, 1>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %a : tensor<4x4xf32>
}
