// RUN: heddle-opt %s --heddle-plan --split-input-file | FileCheck %s

// Chunks of a tensor are computed at their places in the whole, and read there: views cost no launch. 20 rows of 16
// bytes are chunks of 8 and 12 rows. The chunk that begins at row 8 begins at byte 128.
#g = #tile.grid<"", 1, 1>
heddle.size @n max 20
heddle.size @head max 8 of @n from 0
heddle.size @tail max 12 of @n from 8
!x = tensor<?x4xf32, #heddle.dims<"n">>
!h = tensor<?x4xf32, #heddle.dims<"head">>
!t = tensor<?x4xf32, #heddle.dims<"tail">>
tile.func @copy(%a: memref<?x4xf32>, %r: memref<?x4xf32>, %n: index)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} { tile.return }

// CHECK-LABEL: plan.entry @chunks
// CHECK:       plan.input "x" : {{.*}} at [[X:0]] bytes 320
// CHECK:       plan.output "y" : {{.*}} at [[Y:512]] bytes 320
// CHECK-NEXT:  plan.launch @copy {{.*}} [#plan.binding<arena "", 0, 128>, #plan.binding<arena "", 512, 128>, #plan.binding<size "head", 0, 4>]
// CHECK-NEXT:  plan.launch @copy {{.*}} [#plan.binding<arena "", 128, 192>, #plan.binding<arena "", 640, 192>, #plan.binding<size "tail", 0, 4>]
// CHECK-NEXT:  plan.launch barrier @copy {{.*}} [#plan.binding<arena "", 512, 320>, #plan.binding<arena "", 512, 320>, #plan.binding<size "n", 0, 4>]
func.func @chunks(%x: !x {heddle.name = "x"}) -> (!x {heddle.name = "y"}) {
  %h = heddle.slice %x from 0 : !x to !h
  %t = heddle.slice %x from 8 : !x to !t
  %a = tile.launch @copy(%h) grid [#g, #g, #g] sizes ["head"] reuse [-1] : (!h) -> !h
  %b = tile.launch @copy(%t) grid [#g, #g, #g] sizes ["tail"] reuse [-1] : (!t) -> !t
  %whole = heddle.concat %a, %b : !h, !t to !x
  // A result takes over the memory of the whole, which is not used later.
  %y = tile.launch @copy(%whole) grid [#g, #g, #g] sizes ["n"] reuse [0] : (!x) -> !x
  return %y : !x
}

// -----

// A value with another shape is the same memory.
#g = #tile.grid<"", 1, 1>
heddle.size @n max 20
!x = tensor<?x4xf32, #heddle.dims<"n">>
!p = tensor<?x2x2xf32, #heddle.dims<"n">>
tile.func @copy(%a: memref<?x4xf32>, %r: memref<?x4xf32>, %n: index)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} { tile.return }
// CHECK-LABEL: plan.entry @shapes
// CHECK:       plan.input "x" : {{.*}} at 0 bytes 320
// CHECK:       plan.output "y" : {{.*}} at [[Y:[0-9]+]] bytes 320
// CHECK-NEXT:  plan.launch @copy {{.*}} [#plan.binding<arena "", 0, 320>, #plan.binding<arena "", [[A:[0-9]+]], 320>
// CHECK-NEXT:  plan.launch barrier @copy {{.*}} [#plan.binding<arena "", [[A]], 320>, #plan.binding<arena "", [[Y]], 320>
func.func @shapes(%x: !x {heddle.name = "x"}) -> (!x {heddle.name = "y"}) {
  %p = heddle.reshape %x : !x to !p
  %a = tile.launch @copy(%p) grid [#g, #g, #g] sizes ["n"] reuse [-1] : (!p) -> !p
  %f = heddle.reshape %a : !p to !x
  %y = tile.launch @copy(%f) grid [#g, #g, #g] sizes ["n"] reuse [-1] : (!x) -> !x
  return %y : !x
}

// -----

// The whole is live as long as any of its parts is read. A reader of a part waits for the launch that writes the whole.
#g = #tile.grid<"", 1, 1>
tile.func @make(%r: memref<1x64xf32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} { tile.return }
tile.func @use(%a: memref<1x64xf32>, %r: memref<1x64xf32>)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} { tile.return }
// CHECK-LABEL: plan.entry @parts arena 1024
// CHECK:       plan.launch @make {{.*}} [#plan.binding<arena "", [[A:[0-9]+]], 256>]
// CHECK-NEXT:  plan.launch @make {{.*}} [#plan.binding<arena "", [[B:[0-9]+]], 256>]
// CHECK-NEXT:  plan.launch barrier @use {{.*}} [#plan.binding<arena "", {{[0-9]+}}, 512>, #plan.binding<arena "", [[C:[0-9]+]], 256>]
// CHECK-NEXT:  plan.launch @use {{.*}} [#plan.binding<arena "", [[B]], 256>, #plan.binding<arena "", {{[0-9]+}}, 256>]
// CHECK-NEXT:  plan.launch barrier @use {{.*}} [#plan.binding<arena "", [[C]], 256>, #plan.binding<arena "", [[A]], 256>]
func.func @parts() -> (tensor<64xf32> {heddle.name = "y"}, tensor<64xf32> {heddle.name = "z"}) {
  %a = tile.launch @make() grid [#g, #g, #g] sizes [] reuse [-1] : () -> tensor<64xf32>
  %b = tile.launch @make() grid [#g, #g, #g] sizes [] reuse [-1] : () -> tensor<64xf32>
  %whole = heddle.concat %a, %b : tensor<64xf32>, tensor<64xf32> to tensor<128xf32>
  %c = tile.launch @use(%whole) grid [#g, #g, #g] sizes [] reuse [-1] : (tensor<128xf32>) -> tensor<64xf32>
  %d = tile.launch @use(%c) grid [#g, #g, #g] sizes [] reuse [-1] : (tensor<64xf32>) -> tensor<64xf32>
  %part = heddle.slice %whole from 64 : tensor<128xf32> to tensor<64xf32>
  %e = tile.launch @use(%part) grid [#g, #g, #g] sizes [] reuse [-1] : (tensor<64xf32>) -> tensor<64xf32>
  return %d, %e : tensor<64xf32>, tensor<64xf32>
}

// -----

// A variable inside of another one is a range of its memory. The whole is updated in place, after the last reader of a
// part.
#g = #tile.grid<"", 1, 1>
heddle.variable @left weight : tensor<64xf32> in @both from 0
heddle.variable @right weight : tensor<64xf32> in @both from 64
heddle.variable @both weight : tensor<128xf32>
tile.func @use(%a: memref<1x64xf32>, %r: memref<1x64xf32>)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} { tile.return }
tile.func @update(%a: memref<1x128xf32>, %r: memref<1x128xf32>)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} { tile.return }
// CHECK-LABEL: plan.entry @views
// CHECK:       plan.launch @use {{.*}} [#plan.binding<variable "both", 256, 256>, #plan.binding<arena "", {{.*}}, 256>]
// CHECK-NEXT:  plan.launch barrier @update {{.*}} [#plan.binding<variable "both", 0, 512>, #plan.binding<variable "both", 0, 512>]
func.func @views() -> (tensor<64xf32> {heddle.name = "y"}) {
  %whole = heddle.read @both : tensor<128xf32>
  %new = tile.launch @update(%whole) grid [#g, #g, #g] sizes [] reuse [0] : (tensor<128xf32>) -> tensor<128xf32>
  %right = heddle.read @right : tensor<64xf32>
  %y = tile.launch @use(%right) grid [#g, #g, #g] sizes [] reuse [-1] : (tensor<64xf32>) -> tensor<64xf32>
  heddle.write @both, %new : tensor<128xf32>
  return %y : tensor<64xf32>
}

// Each part is written at its place, without a barrier between the two.
// CHECK-LABEL: plan.entry @initialise
// CHECK:       plan.launch @use {{.*}}, #plan.binding<variable "both", 0, 256>]
// CHECK-NEXT:  plan.launch @use {{.*}}, #plan.binding<variable "both", 256, 256>]
func.func @initialise(%x: tensor<64xf32> {heddle.name = "x"}) {
  %a = tile.launch @use(%x) grid [#g, #g, #g] sizes [] reuse [-1] : (tensor<64xf32>) -> tensor<64xf32>
  %b = tile.launch @use(%x) grid [#g, #g, #g] sizes [] reuse [-1] : (tensor<64xf32>) -> tensor<64xf32>
  heddle.write @left, %a : tensor<64xf32>
  heddle.write @right, %b : tensor<64xf32>
  return
}
