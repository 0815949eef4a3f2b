// RUN: heddle-opt %s --heddle-plan --split-input-file | FileCheck %s

// Two temporaries that are not live at the same time share memory. Ports keep their names, types and limits.
heddle.size @n max 100
#n = #heddle.dims<"n">
tile.func @k(%a: memref<?x4xf32>, %r: memref<?x4xf32>, %n: index)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} { tile.return }
tile.func @embed(%i: memref<?x1xi32>, %r: memref<?x4xf32>, %n: index)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} { tile.return }

// 100 rows of 16 bytes are 1600 bytes, 1792 with alignment. Two of the four are live at a time.
// CHECK-LABEL: plan.entry @chain arena
// CHECK-SAME:    3584
// CHECK-NEXT:  plan.input "tokens" : tensor<?xi32, #heddle.dims<"n">> at [[IN:[0-9]+]] bytes 400 limit 37
// CHECK-NEXT:  plan.output "y" : tensor<?x4xf32, #heddle.dims<"n">> at [[B:[0-9]+]] bytes 1600
// CHECK-NEXT:  plan.launch @embed grid [#tile.grid<"n", 8, 1>, #tile.grid<"", 1, 1>, #tile.grid<"", 1, 1>]
// CHECK-SAME:    [#plan.binding<arena "", [[IN]], 400>, #plan.binding<arena "", [[A:[0-9]+]], 1600>, #plan.binding<size "n", 0, 4>]
// CHECK-SAME:    {heddle.cost = #heddle.cost<bytes[<20["n"]>]>}
// CHECK-NEXT:  plan.launch barrier @k {{.*}} [#plan.binding<arena "", [[A]], 1600>, #plan.binding<arena "", [[B]], 1600>
// CHECK-NEXT:  plan.launch barrier @k {{.*}} [#plan.binding<arena "", [[B]], 1600>, #plan.binding<arena "", [[A]], 1600>
// CHECK-NEXT:  plan.launch barrier @k {{.*}} [#plan.binding<arena "", [[A]], 1600>, #plan.binding<arena "", [[B]], 1600>
func.func @chain(%tokens: tensor<?xi32, #n> {heddle.name = "tokens", heddle.limit = 37 : i64})
    -> (tensor<?x4xf32, #n> {heddle.name = "y"}) {
  %a = tile.launch @embed(%tokens) grid [#tile.grid<"n", 8, 1>, #tile.grid<"", 1, 1>, #tile.grid<"", 1, 1>] sizes ["n"] reuse [-1]
      {heddle.cost = #heddle.cost<bytes[<20["n"]>]>}
      : (tensor<?xi32, #n>) -> tensor<?x4xf32, #n>
  %b = tile.launch @k(%a) grid [#tile.grid<"n", 8, 1>, #tile.grid<"", 1, 1>, #tile.grid<"", 1, 1>] sizes ["n"] reuse [-1]
      : (tensor<?x4xf32, #n>) -> tensor<?x4xf32, #n>
  %c = tile.launch @k(%b) grid [#tile.grid<"n", 8, 1>, #tile.grid<"", 1, 1>, #tile.grid<"", 1, 1>] sizes ["n"] reuse [-1]
      : (tensor<?x4xf32, #n>) -> tensor<?x4xf32, #n>
  %d = tile.launch @k(%c) grid [#tile.grid<"n", 8, 1>, #tile.grid<"", 1, 1>, #tile.grid<"", 1, 1>] sizes ["n"] reuse [-1]
      : (tensor<?x4xf32, #n>) -> tensor<?x4xf32, #n>
  return %d : tensor<?x4xf32, #n>
}

// -----

// A result takes over the memory of an input that is not used later, and only then. Independent launches need no
// barrier.
#g = #tile.grid<"", 1, 1>
tile.func @copy(%a: memref<1x8xf32>, %r: memref<1x8xf32>)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 1 : i64} { tile.return }
tile.func @add(%a: memref<1x8xf32>, %b: memref<1x8xf32>, %r: memref<1x8xf32>)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 1 : i64} { tile.return }

// CHECK-LABEL: plan.entry @reuse arena
// CHECK:       plan.input "x" : tensor<8xf32> at [[X:[0-9]+]] bytes 32
// CHECK:       plan.launch @copy {{.*}} [#plan.binding<arena "", [[X]], 32>, #plan.binding<arena "", [[A:[0-9]+]], 32>]
// CHECK-NEXT:  plan.launch @copy {{.*}} [#plan.binding<arena "", [[X]], 32>, #plan.binding<arena "", [[B:[0-9]+]], 32>]
// CHECK-NEXT:  plan.launch barrier @add {{.*}} [#plan.binding<arena "", [[A]], 32>, #plan.binding<arena "", [[B]], 32>, #plan.binding<arena "", [[A]], 32>]
// CHECK-NEXT:  plan.launch barrier @add {{.*}} [#plan.binding<arena "", [[A]], 32>, #plan.binding<arena "", [[B]], 32>, #plan.binding<arena "", [[D:[0-9]+]], 32>]
// CHECK-NEXT:  plan.launch barrier @add {{.*}} [#plan.binding<arena "", [[A]], 32>, #plan.binding<arena "", [[D]], 32>
func.func @reuse(%x: tensor<8xf32> {heddle.name = "x"}) -> (tensor<8xf32> {heddle.name = "y"}) {
  %a = tile.launch @copy(%x) grid [#g, #g, #g] sizes [] reuse [-1] : (tensor<8xf32>) -> tensor<8xf32>
  %b = tile.launch @copy(%x) grid [#g, #g, #g] sizes [] reuse [-1] : (tensor<8xf32>) -> tensor<8xf32>
  %c = tile.launch @add(%a, %b) grid [#g, #g, #g] sizes [] reuse [0] : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %d = tile.launch @add(%c, %b) grid [#g, #g, #g] sizes [] reuse [0] : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %e = tile.launch @add(%c, %d) grid [#g, #g, #g] sizes [] reuse [-1] : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %e : tensor<8xf32>
}

// -----

// A variable is overwritten after the last reader of its old value, as early as possible, but an update adds no
// barrier: the update of @w moves up to the next barrier, and that of @count down past the last reader.
#g = #tile.grid<"", 1, 1>
heddle.variable @w weight : tensor<2048xf32>
heddle.variable @v weight : tensor<2048xf32>
heddle.variable @count counter : tensor<1xi32>
tile.func @grad(%a: memref<1x2048xf32>, %r: memref<1x2048xf32>)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 1 : i64} { tile.return }
tile.func @masked(%a: memref<1x2048xf32>, %c: memref<1x1xi32>, %r: memref<1x2048xf32>)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 1 : i64} { tile.return }
tile.func @update(%a: memref<1x2048xf32>, %b: memref<1x2048xf32>, %r: memref<1x2048xf32>)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 1 : i64} { tile.return }
tile.func @next(%c: memref<1x1xi32>, %r: memref<1x1xi32>)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 1 : i64} { tile.return }

// CHECK-LABEL: plan.entry @step arena 16384
// CHECK-NEXT:  plan.launch @grad {{.*}} [#plan.binding<variable "w", 0, 8192>, #plan.binding<arena "", [[G:[0-9]+]], 8192>]
// CHECK-NEXT:  plan.launch @masked {{.*}} [#plan.binding<variable "v", 0, 8192>, #plan.binding<variable "count", 0, 4>, #plan.binding<arena "", [[H:[0-9]+]], 8192>]
// CHECK-NEXT:  plan.launch barrier @next {{.*}} [#plan.binding<variable "count", 0, 4>, #plan.binding<variable "count", 0, 4>]
// CHECK-NEXT:  plan.launch @update {{.*}} [#plan.binding<variable "w", 0, 8192>, #plan.binding<arena "", [[G]], 8192>, #plan.binding<variable "w", 0, 8192>]
// CHECK-NEXT:  plan.launch barrier @grad {{.*}} [#plan.binding<arena "", [[H]], 8192>, #plan.binding<arena "", [[G]], 8192>]
// CHECK-NEXT:  plan.launch barrier @update {{.*}} [#plan.binding<variable "v", 0, 8192>, #plan.binding<arena "", [[G]], 8192>, #plan.binding<variable "v", 0, 8192>]
// CHECK-NEXT:  }
func.func @step() {
  %count = heddle.read @count : tensor<1xi32>
  %w = heddle.read @w : tensor<2048xf32>
  %v = heddle.read @v : tensor<2048xf32>
  %next = tile.launch @next(%count) grid [#g, #g, #g] sizes [] reuse [0] : (tensor<1xi32>) -> tensor<1xi32>
  %dw = tile.launch @grad(%w) grid [#g, #g, #g] sizes [] reuse [-1] : (tensor<2048xf32>) -> tensor<2048xf32>
  %h = tile.launch @masked(%v, %count) grid [#g, #g, #g] sizes [] reuse [-1] : (tensor<2048xf32>, tensor<1xi32>) -> tensor<2048xf32>
  %dv = tile.launch @grad(%h) grid [#g, #g, #g] sizes [] reuse [-1] : (tensor<2048xf32>) -> tensor<2048xf32>
  %w1 = tile.launch @update(%w, %dw) grid [#g, #g, #g] sizes [] reuse [0] : (tensor<2048xf32>, tensor<2048xf32>) -> tensor<2048xf32>
  %v1 = tile.launch @update(%v, %dv) grid [#g, #g, #g] sizes [] reuse [0] : (tensor<2048xf32>, tensor<2048xf32>) -> tensor<2048xf32>
  heddle.write @w, %w1 : tensor<2048xf32>
  heddle.write @v, %v1 : tensor<2048xf32>
  heddle.write @count, %next : tensor<1xi32>
  return
}

// -----

// The step's number is needed before and after it is incremented, so it is computed twice.
#g = #tile.grid<"", 1, 1>
heddle.variable @count counter : tensor<1xi32>
tile.func @next(%c: memref<1x1xi32>, %r: memref<1x1xi32>)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 1 : i64} { tile.return }
tile.func @both(%a: memref<1x1xi32>, %c: memref<1x1xi32>, %r: memref<1x2048xf32>)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 1 : i64} { tile.return }
// CHECK-LABEL: plan.entry @counted
// CHECK:       plan.launch @next {{.*}} [#plan.binding<variable "count", 0, 4>, #plan.binding<arena "", [[N:[0-9]+]], 4>]
// CHECK-NEXT:  plan.launch barrier @both {{.*}} [#plan.binding<arena "", [[N]], 4>, #plan.binding<variable "count", 0, 4>
// CHECK-NEXT:  plan.launch barrier @next {{.*}} [#plan.binding<variable "count", 0, 4>, #plan.binding<variable "count", 0, 4>]
// CHECK-NEXT:  }
func.func @counted() -> (tensor<2048xf32> {heddle.name = "y"}) {
  %count = heddle.read @count : tensor<1xi32>
  %next = tile.launch @next(%count) grid [#g, #g, #g] sizes [] reuse [0] : (tensor<1xi32>) -> tensor<1xi32>
  %y = tile.launch @both(%next, %count) grid [#g, #g, #g] sizes [] reuse [-1] : (tensor<1xi32>, tensor<1xi32>) -> tensor<2048xf32>
  heddle.write @count, %next : tensor<1xi32>
  return %y : tensor<2048xf32>
}

// -----

// Kernels that change their input in place: both kernels of a chain on a variable, and one on a temporary. A read after
// the write returns the new value, in the same memory.
#g = #tile.grid<"", 1, 1>
heddle.variable @cache cache : tensor<8xf32>
tile.func @scatter(%a: memref<1x8xf32>, %b: memref<1x8xf32>, %r: memref<1x8xf32>)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 1 : i64} { tile.return }
tile.func @copy(%a: memref<1x8xf32>, %r: memref<1x8xf32>)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 1 : i64} { tile.return }

// CHECK-LABEL: plan.entry @scatters arena
// CHECK:       plan.output "y" : tensor<8xf32> at [[Y:[0-9]+]] bytes 32
// CHECK:       @scatter {{.*}} [#plan.binding<variable "cache", 0, 32>, #plan.binding<arena "", [[X:[0-9]+]], 32>, #plan.binding<variable "cache", 0, 32>]
// CHECK:       @scatter {{.*}} [#plan.binding<variable "cache", 0, 32>, #plan.binding<arena "", [[X]], 32>, #plan.binding<variable "cache", 0, 32>]
// CHECK:       @copy {{.*}} [#plan.binding<variable "cache", 0, 32>, #plan.binding<arena "", [[Y]], 32>]
// CHECK:       @scatter {{.*}} [#plan.binding<arena "", [[Y]], 32>, #plan.binding<arena "", [[X]], 32>, #plan.binding<arena "", [[Y]], 32>]
func.func @scatters(%x: tensor<8xf32> {heddle.name = "x"}) -> (tensor<8xf32> {heddle.name = "y"}) {
  %old = heddle.read @cache : tensor<8xf32>
  %a = tile.launch @scatter(%old, %x) grid [#g, #g, #g] sizes [] reuse [0] {inplace} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %b = tile.launch @scatter(%a, %x) grid [#g, #g, #g] sizes [] reuse [0] {inplace} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  heddle.write @cache, %b : tensor<8xf32>
  %new = heddle.read @cache : tensor<8xf32>
  %c = tile.launch @copy(%new) grid [#g, #g, #g] sizes [] reuse [-1] : (tensor<8xf32>) -> tensor<8xf32>
  %d = tile.launch @scatter(%c, %x) grid [#g, #g, #g] sizes [] reuse [0] {inplace} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %d : tensor<8xf32>
}

// -----

// A returned argument keeps its memory. A variable that is only read keeps its value, whatever memory is reused.
#g = #tile.grid<"", 1, 1>
heddle.variable @w weight : tensor<8xf32>
tile.func @relu(%a: memref<1x8xf32>, %r: memref<1x8xf32>)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 1 : i64} { tile.return }
// CHECK-LABEL: plan.entry @through
// CHECK:       plan.input "x" : tensor<8xf32> at [[X:[0-9]+]] bytes 32
// CHECK:       plan.output "x" : tensor<8xf32> at [[X]] bytes 32
// CHECK:       plan.output "y" : tensor<8xf32> at [[Y:[0-9]+]] bytes 32
// CHECK:       @relu {{.*}} [#plan.binding<variable "w", 0, 32>, #plan.binding<arena "", [[Y]], 32>]
func.func @through(%x: tensor<8xf32> {heddle.name = "x"})
    -> (tensor<8xf32> {heddle.name = "x"}, tensor<8xf32> {heddle.name = "y"}) {
  %w = heddle.read @w : tensor<8xf32>
  %y = tile.launch @relu(%w) grid [#g, #g, #g] sizes [] reuse [0] : (tensor<8xf32>) -> tensor<8xf32>
  return %x, %y : tensor<8xf32>, tensor<8xf32>
}

// -----

// Conditions on a call are kept in the plan.
heddle.size @n max 100
// CHECK-LABEL: plan.entry @conditions
// CHECK:       plan.segments <at <"n", 0> first <0 plus[<"x" times 1 from 0>]> count <1> of <"", 8>>
func.func @conditions(%x: tensor<?xi32, #heddle.dims<"n">> {heddle.name = "x"})
    attributes {plan.segments = [#plan.segments<at <"n", 0> first <0 plus[<"x" times 1 from 0>]> count <1> of <"", 8>>]} {
  return
}

// -----

// The plan lists the variants of a launch one after another, and only the first waits.
#g = #tile.grid<"", 1, 1>
#n = #heddle.dims<"n">
heddle.size @n max 100
heddle.size @n_1_to_1 max 1 of @n from 0 within
heddle.size @n_2_to_100 max 100 of @n from 1 within
tile.func @few(%a: memref<?x4xf32>, %r: memref<?x4xf32>)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 1 : i64} { tile.return }
tile.func @many(%a: memref<?x4xf32>, %r: memref<?x4xf32>, %n: index)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 1 : i64} { tile.return }

// CHECK-LABEL: plan.entry @variants arena
// CHECK:       plan.launch @few grid [#tile.grid<"n_1_to_1", 1, 1>, {{.*}}] [#plan.binding<arena "", [[X:[0-9]+]], 1600>, #plan.binding<arena "", [[A:[0-9]+]], 1600>] reads
// CHECK-NEXT:  plan.launch @many grid [#tile.grid<"n_2_to_100", 8, 1>, {{.*}}] [#plan.binding<arena "", [[X]], 1600>, #plan.binding<arena "", [[A]], 1600>, #plan.binding<size "n", 0, 4>] reads
// CHECK-NEXT:  plan.launch barrier @few grid {{.*}} [#plan.binding<arena "", [[A]], 1600>, #plan.binding<arena "", [[B:[0-9]+]], 1600>] reads
// CHECK-NEXT:  plan.launch @many grid {{.*}} [#plan.binding<arena "", [[A]], 1600>, #plan.binding<arena "", [[B]], 1600>, #plan.binding<size "n", 0, 4>] reads
func.func @variants(%x: tensor<?x4xf32, #n> {heddle.name = "x"}) -> (tensor<?x4xf32, #n> {heddle.name = "y"}) {
  %a = tile.launch @many(%x) grid [#tile.grid<"n_2_to_100", 8, 1>, #g, #g] sizes ["n"] reuse [-1]
      variants [#tile.variant<@few grid [#tile.grid<"n_1_to_1", 1, 1>, #g, #g] sizes []>]
      : (tensor<?x4xf32, #n>) -> tensor<?x4xf32, #n>
  %b = tile.launch @many(%a) grid [#tile.grid<"n_2_to_100", 8, 1>, #g, #g] sizes ["n"] reuse [-1]
      variants [#tile.variant<@few grid [#tile.grid<"n_1_to_1", 1, 1>, #g, #g] sizes []>]
      : (tensor<?x4xf32, #n>) -> tensor<?x4xf32, #n>
  return %b : tensor<?x4xf32, #n>
}
