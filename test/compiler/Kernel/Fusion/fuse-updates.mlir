// RUN: heddle-opt %s --heddle-fuse-updates --split-input-file | FileCheck %s
// RUN: heddle-opt %s --heddle-fuse-updates --split-input-file --remarks-filter=fuse-updates -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: [Missed] not fused | Category:fuse-updates | Function=step | Reason="the weight is a matrix: the kernel that makes its gradient updates it", What=update
// REMARK: [Passed] fused | Category:fuse-updates | Function=step | Into=adam, What="3 updates of vectors"
// REMARK: Function=same | Reason="a weight is updated twice, or a gradient is a part of another tensor or kept elsewhere", What="2 updates of vectors"

// Vectors are stored and updated together. Vectors that can be read four elements at a time come first. The gradients
// are computed at their places in the whole. A matrix is not changed.
// CHECK-DAG: heddle.variable @vectors weight : tensor<15xf32>
// CHECK-DAG: heddle.variable @a weight : tensor<3xf32> in @vectors from 12
// CHECK-DAG: heddle.variable @b weight : tensor<4xf32> in @vectors from 0
// CHECK-DAG: heddle.variable @c weight : tensor<8xf32> in @vectors from 4
// CHECK-DAG: heddle.variable @adam.m.vectors optimizer_state of @vectors as first_moment : tensor<15xf32>
// CHECK-DAG: heddle.variable @adam.m.c optimizer_state of @c as first_moment : tensor<8xf32> in @adam.m.vectors from 4
// CHECK-DAG: heddle.variable @adam.v.vectors optimizer_state of @vectors as second_moment : tensor<15xf32>
// CHECK-DAG: heddle.variable @w weight : tensor<2x3xf32>{{$}}
heddle.variable @a weight : tensor<3xf32>
heddle.variable @adam.m.a optimizer_state of @a as first_moment : tensor<3xf32>
heddle.variable @adam.v.a optimizer_state of @a as second_moment : tensor<3xf32>
heddle.variable @b weight : tensor<4xf32>
heddle.variable @adam.m.b optimizer_state of @b as first_moment : tensor<4xf32>
heddle.variable @adam.v.b optimizer_state of @b as second_moment : tensor<4xf32>
heddle.variable @c weight : tensor<8xf32>
heddle.variable @adam.m.c optimizer_state of @c as first_moment : tensor<8xf32>
heddle.variable @adam.v.c optimizer_state of @c as second_moment : tensor<8xf32>
heddle.variable @w weight : tensor<2x3xf32>
heddle.variable @adam.m.w optimizer_state of @w as first_moment : tensor<2x3xf32>
heddle.variable @adam.v.w optimizer_state of @w as second_moment : tensor<2x3xf32>

// CHECK-LABEL: func.func @step
// CHECK:         %[[GA:.*]] = math.exp %arg0
// CHECK:         heddle.adam %{{.*}}, %{{.*}} : tensor<2x3xf32>
// CHECK:         %[[GB:.*]] = math.exp %arg1
// CHECK:         %[[GC:.*]] = math.exp %arg2
// CHECK-NEXT:    %[[G:.*]] = heddle.concat %[[GB]], %[[GC]], %[[GA]] : tensor<4xf32>, tensor<8xf32>, tensor<3xf32> to tensor<15xf32>
// CHECK-NEXT:    %[[W:.*]] = heddle.read @vectors
// CHECK-NEXT:    %[[M:.*]] = heddle.read @adam.m.vectors
// CHECK-NEXT:    %[[V:.*]] = heddle.read @adam.v.vectors
// CHECK-NEXT:    %[[W2:.*]], %[[M2:.*]], %[[V2:.*]] = heddle.adam %[[W]], %[[G]], %[[M]], %[[V]] rate %arg4 corrections %arg4, %arg4 scale %arg4
// CHECK-NOT:     heddle.write @a,
// CHECK-NOT:     heddle.write @adam.m.b,
// CHECK:         heddle.write @vectors, %[[W2]]
// CHECK-NEXT:    heddle.write @adam.m.vectors, %[[M2]]
// CHECK-NEXT:    heddle.write @adam.v.vectors, %[[V2]]
func.func @step(%x: tensor<3xf32>, %y: tensor<4xf32>, %z: tensor<8xf32>, %t: tensor<2x3xf32>, %r: tensor<1xf32>) {
  %ga = math.exp %x : tensor<3xf32>
  %a = heddle.read @a : tensor<3xf32>
  %ma = heddle.read @adam.m.a : tensor<3xf32>
  %va = heddle.read @adam.v.a : tensor<3xf32>
  %a2, %ma2, %va2 = heddle.adam %a, %ga, %ma, %va rate %r corrections %r, %r scale %r
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32} : tensor<3xf32>
  %w = heddle.read @w : tensor<2x3xf32>
  %mw = heddle.read @adam.m.w : tensor<2x3xf32>
  %vw = heddle.read @adam.v.w : tensor<2x3xf32>
  %w2, %mw2, %vw2 = heddle.adam %w, %t, %mw, %vw rate %r corrections %r, %r scale %r
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32} : tensor<2x3xf32>
  %gb = math.exp %y : tensor<4xf32>
  %b = heddle.read @b : tensor<4xf32>
  %mb = heddle.read @adam.m.b : tensor<4xf32>
  %vb = heddle.read @adam.v.b : tensor<4xf32>
  %b2, %mb2, %vb2 = heddle.adam %b, %gb, %mb, %vb rate %r corrections %r, %r scale %r
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32} : tensor<4xf32>
  %gc = math.exp %z : tensor<8xf32>
  %c = heddle.read @c : tensor<8xf32>
  %mc = heddle.read @adam.m.c : tensor<8xf32>
  %vc = heddle.read @adam.v.c : tensor<8xf32>
  %c2, %mc2, %vc2 = heddle.adam %c, %gc, %mc, %vc rate %r corrections %r, %r scale %r
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32} : tensor<8xf32>
  heddle.write @a, %a2 : tensor<3xf32>
  heddle.write @adam.m.a, %ma2 : tensor<3xf32>
  heddle.write @adam.v.a, %va2 : tensor<3xf32>
  heddle.write @w, %w2 : tensor<2x3xf32>
  heddle.write @adam.m.w, %mw2 : tensor<2x3xf32>
  heddle.write @adam.v.w, %vw2 : tensor<2x3xf32>
  heddle.write @b, %b2 : tensor<4xf32>
  heddle.write @adam.m.b, %mb2 : tensor<4xf32>
  heddle.write @adam.v.b, %vb2 : tensor<4xf32>
  heddle.write @c, %c2 : tensor<8xf32>
  heddle.write @adam.m.c, %mc2 : tensor<8xf32>
  heddle.write @adam.v.c, %vc2 : tensor<8xf32>
  return
}

// -----

// Gradients that were accumulated before are stored together too. The entry that only accumulates them reads its part.
// CHECK-DAG: heddle.variable @grad.a gradient of @a as gradient : tensor<4xf32> in @grad.vectors from 0
// CHECK-DAG: heddle.variable @grad.b gradient of @b as gradient : tensor<8xf32> in @grad.vectors from 4
heddle.variable @a weight : tensor<4xf32>
heddle.variable @adam.m.a optimizer_state of @a as first_moment : tensor<4xf32>
heddle.variable @adam.v.a optimizer_state of @a as second_moment : tensor<4xf32>
heddle.variable @grad.a gradient of @a as gradient : tensor<4xf32>
heddle.variable @b weight : tensor<8xf32>
heddle.variable @adam.m.b optimizer_state of @b as first_moment : tensor<8xf32>
heddle.variable @adam.v.b optimizer_state of @b as second_moment : tensor<8xf32>
heddle.variable @grad.b gradient of @b as gradient : tensor<8xf32>

// CHECK-LABEL: func.func @apply
// CHECK:         %[[G:.*]] = heddle.read @grad.vectors : tensor<12xf32>
// CHECK:         heddle.adam %{{.*}}, %[[G]],
func.func @apply(%r: tensor<1xf32>) {
  %a = heddle.read @a : tensor<4xf32>
  %ga = heddle.read @grad.a : tensor<4xf32>
  %ma = heddle.read @adam.m.a : tensor<4xf32>
  %va = heddle.read @adam.v.a : tensor<4xf32>
  %a2, %ma2, %va2 = heddle.adam %a, %ga, %ma, %va rate %r corrections %r, %r scale %r
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32} : tensor<4xf32>
  %b = heddle.read @b : tensor<8xf32>
  %gb = heddle.read @grad.b : tensor<8xf32>
  %mb = heddle.read @adam.m.b : tensor<8xf32>
  %vb = heddle.read @adam.v.b : tensor<8xf32>
  %b2, %mb2, %vb2 = heddle.adam %b, %gb, %mb, %vb rate %r corrections %r, %r scale %r
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32} : tensor<8xf32>
  heddle.write @a, %a2 : tensor<4xf32>
  heddle.write @adam.m.a, %ma2 : tensor<4xf32>
  heddle.write @adam.v.a, %va2 : tensor<4xf32>
  heddle.write @b, %b2 : tensor<8xf32>
  heddle.write @adam.m.b, %mb2 : tensor<8xf32>
  heddle.write @adam.v.b, %vb2 : tensor<8xf32>
  return
}

// CHECK-LABEL: func.func @accumulate
// CHECK:         heddle.read @grad.a : tensor<4xf32>
func.func @accumulate(%x: tensor<4xf32>) {
  %g = heddle.read @grad.a : tensor<4xf32>
  %s = arith.addf %g, %x : tensor<4xf32>
  heddle.write @grad.a, %s : tensor<4xf32>
  return
}

// -----

// One gradient for two weights cannot be at two places, and a single vector needs no packing.
heddle.variable @a weight : tensor<4xf32>
heddle.variable @adam.m.a optimizer_state of @a as first_moment : tensor<4xf32>
heddle.variable @adam.v.a optimizer_state of @a as second_moment : tensor<4xf32>
heddle.variable @b weight : tensor<4xf32>
heddle.variable @adam.m.b optimizer_state of @b as first_moment : tensor<4xf32>
heddle.variable @adam.v.b optimizer_state of @b as second_moment : tensor<4xf32>
// CHECK-NOT: @vectors
// CHECK-LABEL: func.func @same
// CHECK-COUNT-2: heddle.adam
func.func @same(%x: tensor<4xf32>, %r: tensor<1xf32>) {
  %g = math.exp %x : tensor<4xf32>
  %a = heddle.read @a : tensor<4xf32>
  %ma = heddle.read @adam.m.a : tensor<4xf32>
  %va = heddle.read @adam.v.a : tensor<4xf32>
  %a2, %ma2, %va2 = heddle.adam %a, %g, %ma, %va rate %r corrections %r, %r scale %r
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32} : tensor<4xf32>
  %b = heddle.read @b : tensor<4xf32>
  %mb = heddle.read @adam.m.b : tensor<4xf32>
  %vb = heddle.read @adam.v.b : tensor<4xf32>
  %b2, %mb2, %vb2 = heddle.adam %b, %g, %mb, %vb rate %r corrections %r, %r scale %r
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32} : tensor<4xf32>
  heddle.write @a, %a2 : tensor<4xf32>
  heddle.write @adam.m.a, %ma2 : tensor<4xf32>
  heddle.write @adam.v.a, %va2 : tensor<4xf32>
  heddle.write @b, %b2 : tensor<4xf32>
  heddle.write @adam.m.b, %mb2 : tensor<4xf32>
  heddle.write @adam.v.b, %vb2 : tensor<4xf32>
  return
}

// -----

// Averages are packed with their weights.
heddle.variable @a weight : tensor<4xf32>
heddle.variable @adam.m.a optimizer_state of @a as first_moment : tensor<4xf32>
heddle.variable @adam.v.a optimizer_state of @a as second_moment : tensor<4xf32>
heddle.variable @ema.a optimizer_state of @a as average : tensor<4xf32>
heddle.variable @b weight : tensor<8xf32>
heddle.variable @adam.m.b optimizer_state of @b as first_moment : tensor<8xf32>
heddle.variable @adam.v.b optimizer_state of @b as second_moment : tensor<8xf32>
heddle.variable @ema.b optimizer_state of @b as average : tensor<8xf32>
// CHECK-LABEL: heddle.variable @ema.vectors optimizer_state of @vectors as average : tensor<12xf32>
// CHECK: heddle.variable @ema.a optimizer_state of @a as average : tensor<4xf32> in @ema.vectors from 0
// CHECK-LABEL: func.func @averaged
// CHECK: %[[A:.*]] = heddle.read @ema.vectors
// CHECK: heddle.adam {{.*}} average %[[A]] : tensor<12xf32> -> tensor<12xf32> {{{.*}}decay = 0.899999976 : f32
// CHECK-NOT: heddle.adam
// CHECK: heddle.write @ema.vectors, %new_average
func.func @averaged(%x: tensor<4xf32>, %y: tensor<8xf32>, %r: tensor<1xf32>) {
  %ga = math.exp %x : tensor<4xf32>
  %a = heddle.read @a : tensor<4xf32>
  %ma = heddle.read @adam.m.a : tensor<4xf32>
  %va = heddle.read @adam.v.a : tensor<4xf32>
  %ea = heddle.read @ema.a : tensor<4xf32>
  %a2, %ma2, %va2, %ea2 = heddle.adam %a, %ga, %ma, %va rate %r corrections %r, %r scale %r
    average %ea : tensor<4xf32> -> tensor<4xf32>
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, decay = 0.9 : f32, epsilon = 1.0e-9 : f32} : tensor<4xf32>
  %gb = math.exp %y : tensor<8xf32>
  %b = heddle.read @b : tensor<8xf32>
  %mb = heddle.read @adam.m.b : tensor<8xf32>
  %vb = heddle.read @adam.v.b : tensor<8xf32>
  %eb = heddle.read @ema.b : tensor<8xf32>
  %b2, %mb2, %vb2, %eb2 = heddle.adam %b, %gb, %mb, %vb rate %r corrections %r, %r scale %r
    average %eb : tensor<8xf32> -> tensor<8xf32>
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, decay = 0.9 : f32, epsilon = 1.0e-9 : f32} : tensor<8xf32>
  heddle.write @a, %a2 : tensor<4xf32>
  heddle.write @adam.m.a, %ma2 : tensor<4xf32>
  heddle.write @adam.v.a, %va2 : tensor<4xf32>
  heddle.write @ema.a, %ea2 : tensor<4xf32>
  heddle.write @b, %b2 : tensor<8xf32>
  heddle.write @adam.m.b, %mb2 : tensor<8xf32>
  heddle.write @adam.v.b, %vb2 : tensor<8xf32>
  heddle.write @ema.b, %eb2 : tensor<8xf32>
  return
}

// -----

// If a variable of the model has the storage's name, it keeps the name, and the parts lie in the storage.
// CHECK: heddle.variable @vectors frozen : tensor<12xf32>{{$}}
// CHECK: heddle.variable @[[ALL:[a-z_0-9]+]] weight : tensor<12xf32>{{$}}
// CHECK: heddle.variable @a weight : tensor<4xf32> in @[[ALL]] from 0
// CHECK: heddle.variable @adam.m.a optimizer_state of @a as first_moment : tensor<4xf32> in @adam.m.[[ALL]] from 0
// CHECK: heddle.variable @b weight : tensor<8xf32> in @[[ALL]] from 4
heddle.variable @vectors frozen : tensor<12xf32>
heddle.variable @a weight : tensor<4xf32>
heddle.variable @adam.m.a optimizer_state of @a as first_moment : tensor<4xf32>
heddle.variable @adam.v.a optimizer_state of @a as second_moment : tensor<4xf32>
heddle.variable @b weight : tensor<8xf32>
heddle.variable @adam.m.b optimizer_state of @b as first_moment : tensor<8xf32>
heddle.variable @adam.v.b optimizer_state of @b as second_moment : tensor<8xf32>
func.func @named(%x: tensor<4xf32>, %y: tensor<8xf32>, %r: tensor<1xf32>) {
  %ga = math.exp %x : tensor<4xf32>
  %a = heddle.read @a : tensor<4xf32>
  %ma = heddle.read @adam.m.a : tensor<4xf32>
  %va = heddle.read @adam.v.a : tensor<4xf32>
  %a2, %ma2, %va2 = heddle.adam %a, %ga, %ma, %va rate %r corrections %r, %r scale %r
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32} : tensor<4xf32>
  %gb = math.exp %y : tensor<8xf32>
  %b = heddle.read @b : tensor<8xf32>
  %mb = heddle.read @adam.m.b : tensor<8xf32>
  %vb = heddle.read @adam.v.b : tensor<8xf32>
  %b2, %mb2, %vb2 = heddle.adam %b, %gb, %mb, %vb rate %r corrections %r, %r scale %r
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32} : tensor<8xf32>
  heddle.write @a, %a2 : tensor<4xf32>
  heddle.write @adam.m.a, %ma2 : tensor<4xf32>
  heddle.write @adam.v.a, %va2 : tensor<4xf32>
  heddle.write @b, %b2 : tensor<8xf32>
  heddle.write @adam.m.b, %mb2 : tensor<8xf32>
  heddle.write @adam.v.b, %vb2 : tensor<8xf32>
  return
}

// -----

// bf16 moments are rounded, each vector's by itself.
heddle.variable @a weight : tensor<4xf32>
heddle.variable @adam.m.a optimizer_state of @a as first_moment : tensor<4xbf16>
heddle.variable @adam.v.a optimizer_state of @a as second_moment : tensor<4xbf16>
heddle.variable @b weight : tensor<4xf32>
heddle.variable @adam.m.b optimizer_state of @b as first_moment : tensor<4xbf16>
heddle.variable @adam.v.b optimizer_state of @b as second_moment : tensor<4xbf16>
// CHECK-LABEL: func.func @rounded
// CHECK-COUNT-2: heddle.adam {{.*}} rounding
func.func @rounded(%x: tensor<4xf32>, %r: tensor<1xf32>, %step: tensor<1xi32>) {
  %ga = math.exp %x : tensor<4xf32>
  %a = heddle.read @a : tensor<4xf32>
  %ma = heddle.read @adam.m.a : tensor<4xbf16>
  %va = heddle.read @adam.v.a : tensor<4xbf16>
  %a2, %ma2, %va2 = heddle.adam %a, %ga, %ma, %va rate %r corrections %r, %r scale %r rounding %step
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32} : tensor<4xf32>, tensor<4xbf16>
  %gb = math.sin %x : tensor<4xf32>
  %b = heddle.read @b : tensor<4xf32>
  %mb = heddle.read @adam.m.b : tensor<4xbf16>
  %vb = heddle.read @adam.v.b : tensor<4xbf16>
  %b2, %mb2, %vb2 = heddle.adam %b, %gb, %mb, %vb rate %r corrections %r, %r scale %r rounding %step
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32} : tensor<4xf32>, tensor<4xbf16>
  heddle.write @a, %a2 : tensor<4xf32>
  heddle.write @adam.m.a, %ma2 : tensor<4xbf16>
  heddle.write @adam.v.a, %va2 : tensor<4xbf16>
  heddle.write @b, %b2 : tensor<4xf32>
  heddle.write @adam.m.b, %mb2 : tensor<4xbf16>
  heddle.write @adam.v.b, %vb2 : tensor<4xbf16>
  return
}
