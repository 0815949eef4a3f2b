// RUN: heddle-opt %s --load-pass-plugin=%plugin --pass-pipeline='builtin.module(fold-scales)' | FileCheck %s
// RUN: heddle-opt %s --load-pass-plugin=%plugin --pass-pipeline='builtin.module(fold-scales{products=false})' | FileCheck --check-prefix=ALONE %s
// RUN: heddle-compile %s --load-pass-plugin=%plugin --pass-after=derive:fold-scales --compile-to=derive | FileCheck %s
// RUN: heddle-compile %s --load-pass-plugin=%plugin --pass-after=derive:fold-scales -o %t.heddle | FileCheck --check-prefix=FOLDED %s
// RUN: heddle-compile %s -o %t.heddle | FileCheck --check-prefix=PLAIN %s

heddle.size @n max 64
#n = #heddle.dims<"n">

// A scaled operand needs a launch of its own. A multiplication behind the matmul joins the launch of the matmul.
// FOLDED: product: 1 launches
// PLAIN: product: 2 launches

// CHECK-LABEL: func.func @product(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x8xf32
// CHECK-NOT: arith.mulf
// CHECK: %[[Y:.*]] = heddle.matmul %[[X]], %{{.*}}
// CHECK: %[[SCALE:.*]] = heddle.fill 2.000000e+00
// CHECK-NEXT: %[[Z:.*]] = arith.mulf %[[Y]], %[[SCALE]]
// CHECK-NEXT: return %[[Z]]
// ALONE-LABEL: func.func @product(
// ALONE: arith.mulf
// ALONE: heddle.matmul
// ALONE: arith.mulf
func.func @product(%x: tensor<?x8xf32, #n> {heddle.name = "x"}, %w: tensor<8x4xf32> {heddle.name = "w"})
    -> (tensor<?x4xf32, #n> {heddle.name = "y"}) {
  %eight = heddle.fill 8.0 : f32 : tensor<?x8xf32, #n>
  %quarter = heddle.fill 0.25 : f32 : tensor<?x4xf32, #n>
  %scaled = arith.mulf %x, %eight : tensor<?x8xf32, #n>
  %y = heddle.matmul %scaled, %w : tensor<?x8xf32, #n>, tensor<8x4xf32> -> tensor<?x4xf32, #n>
  %z = arith.mulf %quarter, %y : tensor<?x4xf32, #n>
  return %z : tensor<?x4xf32, #n>
}

// CHECK-LABEL: func.func @chain(
// CHECK: heddle.fill 6.000000e+00
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: return
// ALONE-LABEL: func.func @chain(
// ALONE: heddle.fill 6.000000e+00
// ALONE-NEXT: arith.mulf
// ALONE-NEXT: return
func.func @chain(%x: tensor<?x8xf32, #n> {heddle.name = "x"}) -> (tensor<?x8xf32, #n> {heddle.name = "y"}) {
  %two = heddle.fill 2.0 : f32 : tensor<?x8xf32, #n>
  %three = heddle.fill 3.0 : f32 : tensor<?x8xf32, #n>
  %a = arith.mulf %x, %two : tensor<?x8xf32, #n>
  %b = arith.mulf %a, %three : tensor<?x8xf32, #n>
  return %b : tensor<?x8xf32, #n>
}

// A matmul whose result is not scaled keeps its scaled operand: moving the multiplication would save nothing.
// CHECK-LABEL: func.func @factor(
// CHECK: arith.mulf
// CHECK: heddle.matmul
// CHECK-NEXT: return
func.func @factor(%x: tensor<?x8xf32, #n> {heddle.name = "x"}, %w: tensor<8x4xf32> {heddle.name = "w"})
    -> (tensor<?x4xf32, #n> {heddle.name = "y"}) {
  %eight = heddle.fill 8.0 : f32 : tensor<?x8xf32, #n>
  %scaled = arith.mulf %x, %eight : tensor<?x8xf32, #n>
  %y = heddle.matmul %scaled, %w : tensor<?x8xf32, #n>, tensor<8x4xf32> -> tensor<?x4xf32, #n>
  return %y : tensor<?x4xf32, #n>
}
