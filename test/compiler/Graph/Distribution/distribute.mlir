// RUN: heddle-opt %s --heddle-distribute | FileCheck %s

heddle.variable @w weight : tensor<2x3xf32>
heddle.variable @adam.m.w optimizer_state of @w as first_moment : tensor<2x3xf32>
heddle.variable @adam.v.w optimizer_state of @w as second_moment : tensor<2x3xf32>
heddle.variable @vectors weight : tensor<7xf32>
heddle.variable @adam.m.vectors optimizer_state of @vectors as first_moment : tensor<7xf32>
heddle.variable @adam.v.vectors optimizer_state of @vectors as second_moment : tensor<7xf32>
heddle.variable @grad.w gradient of @w as gradient : tensor<2x3xf32>
heddle.variable @grad.vectors gradient of @vectors as gradient : tensor<7xf32>
heddle.variable @b weight : tensor<3xf32> in @vectors from 4
heddle.variable @grad.b gradient of @b as gradient : tensor<3xf32> in @grad.vectors from 4
heddle.variable @steps counter as steps : tensor<1xi32>

// The backward pass continues with the rank's own gradient of @w. The optimizer, including its norm, reads the sums.
// The sums of two vectors travel as one tensor, as soon as both are computed.
// CHECK-LABEL: func.func @step
// CHECK:         %[[GA:.*]] = math.exp %arg0 : tensor<4xf32>
// CHECK-NEXT:    %[[GW:.*]] = math.exp %arg1 : tensor<2x3xf32>
// CHECK-NEXT:    %[[SW:.*]] = heddle.all_reduce %[[GW]] : tensor<2x3xf32>
// CHECK-NEXT:    %[[ROW:.*]] = heddle.sum rows %[[GW]]
// CHECK-NEXT:    %[[GB:.*]] = math.exp %[[ROW]] : tensor<3xf32>
// CHECK-NEXT:    %[[G:.*]] = heddle.concat %[[GA]], %[[GB]]
// CHECK-NEXT:    %[[S:.*]] = heddle.all_reduce %[[G]] : tensor<7xf32>
// CHECK-NEXT:    %[[SA:.*]] = heddle.slice %[[S]] from 0 : tensor<7xf32> to tensor<4xf32>
// CHECK-NEXT:    arith.mulf %[[SW]], %[[SW]] : tensor<2x3xf32>
// CHECK-NEXT:    %[[SQUARES:.*]] = arith.mulf %[[SA]], %[[SA]] : tensor<4xf32>
// CHECK-NEXT:    %[[NORM:.*]] = heddle.sum columns %[[SQUARES]]
// CHECK:         heddle.adam %{{.*}}, %[[SW]], %{{.*}} scale %[[NORM]]
// CHECK:         heddle.adam %{{.*}}, %[[S]], %{{.*}} scale %[[NORM]]
func.func @step(%x: tensor<4xf32>, %y: tensor<2x3xf32>, %r: tensor<1xf32>) attributes {heddle.ranks} {
  %ga = math.exp %x : tensor<4xf32>
  %gw = math.exp %y : tensor<2x3xf32>
  %row = heddle.sum rows %gw : tensor<2x3xf32> -> tensor<3xf32>
  %gb = math.exp %row : tensor<3xf32>
  %squares = arith.mulf %gw, %gw : tensor<2x3xf32>
  %more = arith.mulf %ga, %ga : tensor<4xf32>
  %norm = heddle.sum columns %more : tensor<4xf32> -> tensor<1xf32>
  %w = heddle.read @w : tensor<2x3xf32>
  %mw = heddle.read @adam.m.w : tensor<2x3xf32>
  %vw = heddle.read @adam.v.w : tensor<2x3xf32>
  %w2, %mw2, %vw2 = heddle.adam %w, %gw, %mw, %vw rate %r corrections %r, %r scale %norm
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32} : tensor<2x3xf32>
  %v = heddle.read @vectors : tensor<7xf32>
  %mv = heddle.read @adam.m.vectors : tensor<7xf32>
  %vv = heddle.read @adam.v.vectors : tensor<7xf32>
  %g = heddle.concat %ga, %gb : tensor<4xf32>, tensor<3xf32> to tensor<7xf32>
  %v2, %mv2, %vv2 = heddle.adam %v, %g, %mv, %vv rate %r corrections %r, %r scale %norm
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32} : tensor<7xf32>
  return
}

// Gradients that were accumulated over several batches, and a counter, which is equal on all ranks. The accumulated
// gradient that is set to zero is the rank's own.
// CHECK-LABEL: func.func @apply
// CHECK:         %[[G:.*]] = heddle.read @grad.w
// CHECK-NEXT:    %[[S:.*]] = heddle.all_reduce %[[G]]
// CHECK:         heddle.adam %{{.*}}, %[[S]],
// CHECK:         heddle.write @grad.w, %[[ZERO:.*]] :
// CHECK:         heddle.write @w,
func.func @apply(%r: tensor<1xf32>) attributes {heddle.ranks} {
  %g = heddle.read @grad.w : tensor<2x3xf32>
  %w = heddle.read @w : tensor<2x3xf32>
  %mw = heddle.read @adam.m.w : tensor<2x3xf32>
  %vw = heddle.read @adam.v.w : tensor<2x3xf32>
  %fixed = heddle.fill 1.0 : f32 : tensor<1xf32>
  %w2, %mw2, %vw2 = heddle.adam %w, %g, %mw, %vw rate %fixed corrections %fixed, %fixed scale %fixed
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32} : tensor<2x3xf32>
  %count = heddle.read @steps : tensor<1xi32>
  %one = heddle.fill 1 : i32 : tensor<1xi32>
  %next = arith.addi %count, %one : tensor<1xi32>
  heddle.write @steps, %next : tensor<1xi32>
  %zero = heddle.fill 0.0 : f32 : tensor<2x3xf32>
  heddle.write @grad.w, %zero : tensor<2x3xf32>
  heddle.write @w, %w2 : tensor<2x3xf32>
  return
}

// The norm reads a part of the accumulated gradients, under a name of its own.
// CHECK-LABEL: func.func @apply_parts
// CHECK:         %[[S:.*]] = heddle.all_reduce %{{.*}} : tensor<7xf32>
// CHECK-NEXT:    %[[PART:.*]] = heddle.slice %[[S]] from 4 : tensor<7xf32> to tensor<3xf32>
// CHECK:         arith.mulf %[[PART]], %[[PART]]
func.func @apply_parts() attributes {heddle.ranks} {
  %g = heddle.read @grad.vectors : tensor<7xf32>
  %part = heddle.read @grad.b : tensor<3xf32>
  %squares = arith.mulf %part, %part : tensor<3xf32>
  %norm = heddle.sum columns %squares : tensor<3xf32> -> tensor<1xf32>
  %v = heddle.read @vectors : tensor<7xf32>
  %mv = heddle.read @adam.m.vectors : tensor<7xf32>
  %vv = heddle.read @adam.v.vectors : tensor<7xf32>
  %v2, %mv2, %vv2 = heddle.adam %v, %g, %mv, %vv rate %norm corrections %norm, %norm scale %norm
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32} : tensor<7xf32>
  heddle.write @vectors, %v2 : tensor<7xf32>
  return
}

// Other entries do not change.
// CHECK-LABEL: func.func @alone
// CHECK-NOT:     heddle.all_reduce
func.func @alone(%y: tensor<2x3xf32>, %r: tensor<1xf32>) {
  %gw = math.exp %y : tensor<2x3xf32>
  %w = heddle.read @w : tensor<2x3xf32>
  %mw = heddle.read @adam.m.w : tensor<2x3xf32>
  %vw = heddle.read @adam.v.w : tensor<2x3xf32>
  %w2, %mw2, %vw2 = heddle.adam %w, %gw, %mw, %vw rate %r corrections %r, %r scale %r
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32} : tensor<2x3xf32>
  return
}
