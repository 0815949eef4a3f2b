// RUN: heddle-compile %s -o %t.heddle | FileCheck %s
// RUN: heddle-inspect %t.heddle | FileCheck --check-prefix=INSPECT %s

// A module of the heddle dialect is a model like any other.
// CHECK: 1 entries, 1 launches, 1 kernels
// INSPECT: scale
heddle.size @n max 64
#n = #heddle.dims<"n">
func.func @scale(%x: tensor<?x8xf32, #n> {heddle.name = "x"}) -> (tensor<?x8xf32, #n> {heddle.name = "y"}) {
  %two = heddle.fill 2.0 : f32 : tensor<?x8xf32, #n>
  %y = arith.mulf %x, %two : tensor<?x8xf32, #n>
  return %y : tensor<?x8xf32, #n>
}
