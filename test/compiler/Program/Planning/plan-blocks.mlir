// RUN: heddle-opt %s --heddle-plan | FileCheck --check-prefixes=CHECK,ONE %s
// RUN: heddle-opt %s --heddle-plan=max-allocation=8192 | FileCheck --check-prefixes=CHECK,ONE %s
// RUN: heddle-opt %s --heddle-plan=max-allocation=4096 | FileCheck --check-prefixes=CHECK,TWO %s
// RUN: heddle-opt %s --heddle-plan=max-allocation=2303 | FileCheck --check-prefixes=CHECK,MORE %s

// Four temporaries of 2048 bytes, three of which are live at a time, in one block, in two, and in one each. The limit
// is rounded down to a multiple of 256 bytes. Launches and barriers do not depend on it.
#g = #tile.grid<"", 1, 1>
heddle.variable @w weight : tensor<512xf32>
tile.func @copy(%a: memref<1x512xf32>, %r: memref<1x512xf32>)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 1 : i64} { tile.return }
tile.func @add(%a: memref<1x512xf32>, %b: memref<1x512xf32>, %r: memref<1x512xf32>)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 1 : i64} { tile.return }

// ONE:         plan.entry @eval arena 6144 {
// TWO:         plan.entry @eval arena 6144 blocks [4096, 2048] {
// MORE:        plan.entry @eval arena 6144 blocks [2048, 2048, 2048] {
// CHECK-NEXT:  plan.output "y" : tensor<512xf32> at [[Y:[0-9]+]] bytes 2048
// CHECK-NEXT:  plan.launch @copy {{.*}} [#plan.binding<variable "w", 0, 2048>, #plan.binding<arena "", [[A:0|2048|4096]], 2048>]
// CHECK-NEXT:  plan.launch @copy {{.*}} [#plan.binding<variable "w", 0, 2048>, #plan.binding<arena "", [[B:0|2048|4096]], 2048>]
// CHECK-NEXT:  plan.launch barrier @add {{.*}} [#plan.binding<arena "", [[A]], 2048>, #plan.binding<arena "", [[B]], 2048>, #plan.binding<arena "", [[C:0|2048|4096]], 2048>]
// CHECK-NEXT:  plan.launch barrier @add {{.*}} [#plan.binding<arena "", [[B]], 2048>, #plan.binding<arena "", [[C]], 2048>, #plan.binding<arena "", [[Y]], 2048>]
// CHECK-NEXT:  }
func.func @eval() -> (tensor<512xf32> {heddle.name = "y"}) {
  %w = heddle.read @w : tensor<512xf32>
  %a = tile.launch @copy(%w) grid [#g, #g, #g] sizes [] reuse [-1] : (tensor<512xf32>) -> tensor<512xf32>
  %b = tile.launch @copy(%w) grid [#g, #g, #g] sizes [] reuse [-1] : (tensor<512xf32>) -> tensor<512xf32>
  %c = tile.launch @add(%a, %b) grid [#g, #g, #g] sizes [] reuse [-1] : (tensor<512xf32>, tensor<512xf32>) -> tensor<512xf32>
  %d = tile.launch @add(%b, %c) grid [#g, #g, #g] sizes [] reuse [-1] : (tensor<512xf32>, tensor<512xf32>) -> tensor<512xf32>
  return %d : tensor<512xf32>
}
