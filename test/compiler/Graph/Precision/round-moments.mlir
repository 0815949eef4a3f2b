// RUN: heddle-opt %s --split-input-file --heddle-round-variables=moments=bf16 | FileCheck %s

// Both moments of a matrix are rounded, also if they are views. The moments of a vector, of a matrix with an odd number
// of columns, and moments that an entry reads are not. The average stays.
// CHECK: heddle.variable @adam.m.w {{.*}} : tensor<64x4xbf16>
// CHECK: heddle.variable @adam.v.w {{.*}} : tensor<64x4xbf16>
// CHECK: heddle.variable @ema.w {{.*}} : tensor<64x4xf32>
// CHECK: heddle.variable @adam.m.part {{.*}} : tensor<32x4xbf16> in @adam.m.w from 32
// CHECK: heddle.variable @adam.m.b {{.*}} : tensor<4xf32>
// CHECK: heddle.variable @adam.v.b {{.*}} : tensor<4xf32>
// CHECK: heddle.variable @adam.m.odd {{.*}} : tensor<128x3xf32>
// CHECK: heddle.variable @adam.v.odd {{.*}} : tensor<128x3xf32>
// CHECK: heddle.variable @adam.m.seen {{.*}} : tensor<64x4xf32>
// CHECK: heddle.variable @adam.v.seen {{.*}} : tensor<64x4xf32>
heddle.variable @step counter as steps : tensor<1xi32>
heddle.variable @w weight : tensor<64x4xf32>
heddle.variable @adam.m.w optimizer_state of @w as first_moment : tensor<64x4xf32>
heddle.variable @adam.v.w optimizer_state of @w as second_moment : tensor<64x4xf32>
heddle.variable @ema.w optimizer_state of @w as average : tensor<64x4xf32>
heddle.variable @part weight : tensor<32x4xf32> in @w from 32
heddle.variable @adam.m.part optimizer_state of @part as first_moment : tensor<32x4xf32> in @adam.m.w from 32
heddle.variable @b weight : tensor<4xf32>
heddle.variable @adam.m.b optimizer_state of @b as first_moment : tensor<4xf32>
heddle.variable @adam.v.b optimizer_state of @b as second_moment : tensor<4xf32>
heddle.variable @odd weight : tensor<128x3xf32>
heddle.variable @adam.m.odd optimizer_state of @odd as first_moment : tensor<128x3xf32>
heddle.variable @adam.v.odd optimizer_state of @odd as second_moment : tensor<128x3xf32>
heddle.variable @seen weight : tensor<64x4xf32>
heddle.variable @adam.m.seen optimizer_state of @seen as first_moment : tensor<64x4xf32>
heddle.variable @adam.v.seen optimizer_state of @seen as second_moment : tensor<64x4xf32>

// CHECK-LABEL: func.func @train_step
// CHECK: %[[STEP:.*]] = arith.addi
// CHECK: %[[M:.*]] = heddle.read @adam.m.w : tensor<64x4xbf16>
// CHECK: %[[V:.*]] = heddle.read @adam.v.w : tensor<64x4xbf16>
// CHECK: %{{.*}}, %[[M2:.*]], %[[V2:.*]], %{{.*}} = heddle.adam %{{.*}}, %{{.*}}, %[[M]], %[[V]] {{.*}} rounding %[[STEP]] {{.*}} : tensor<64x4xf32>, tensor<64x4xbf16>
// CHECK: heddle.adam {{.*}} : tensor<4xf32>{{$}}
// CHECK: heddle.adam {{.*}} : tensor<128x3xf32>{{$}}
// CHECK: heddle.adam {{.*}} : tensor<64x4xf32>{{$}}
// CHECK: heddle.write @adam.m.w, %[[M2]] : tensor<64x4xbf16>
// CHECK: heddle.write @adam.v.w, %[[V2]] : tensor<64x4xbf16>
func.func @train_step(%gw: tensor<64x4xf32>, %gb: tensor<4xf32>, %go: tensor<128x3xf32>) -> tensor<64x4xf32> {
  %old = heddle.read @step : tensor<1xi32>
  %one = heddle.fill 1 : i32 : tensor<1xi32>
  %step = arith.addi %old, %one : tensor<1xi32>
  %r = heddle.fill 1.0 : f32 : tensor<1xf32>
  %w = heddle.read @w : tensor<64x4xf32>
  %mw = heddle.read @adam.m.w : tensor<64x4xf32>
  %vw = heddle.read @adam.v.w : tensor<64x4xf32>
  %ew = heddle.read @ema.w : tensor<64x4xf32>
  %w2, %mw2, %vw2, %ew2 = heddle.adam %w, %gw, %mw, %vw rate %r corrections %r, %r scale %r average %ew : tensor<64x4xf32> -> tensor<64x4xf32>
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32, decay = 0.5 : f32} : tensor<64x4xf32>
  %b = heddle.read @b : tensor<4xf32>
  %mb = heddle.read @adam.m.b : tensor<4xf32>
  %vb = heddle.read @adam.v.b : tensor<4xf32>
  %b2, %mb2, %vb2 = heddle.adam %b, %gb, %mb, %vb rate %r corrections %r, %r scale %r
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32} : tensor<4xf32>
  %o = heddle.read @odd : tensor<128x3xf32>
  %mo = heddle.read @adam.m.odd : tensor<128x3xf32>
  %vo = heddle.read @adam.v.odd : tensor<128x3xf32>
  %o2, %mo2, %vo2 = heddle.adam %o, %go, %mo, %vo rate %r corrections %r, %r scale %r
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32} : tensor<128x3xf32>
  %s = heddle.read @seen : tensor<64x4xf32>
  %ms = heddle.read @adam.m.seen : tensor<64x4xf32>
  %vs = heddle.read @adam.v.seen : tensor<64x4xf32>
  %s2, %ms2, %vs2 = heddle.adam %s, %gw, %ms, %vs rate %r corrections %r, %r scale %r
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32} : tensor<64x4xf32>
  heddle.write @w, %w2 : tensor<64x4xf32>
  heddle.write @adam.m.w, %mw2 : tensor<64x4xf32>
  heddle.write @adam.v.w, %vw2 : tensor<64x4xf32>
  heddle.write @ema.w, %ew2 : tensor<64x4xf32>
  heddle.write @b, %b2 : tensor<4xf32>
  heddle.write @adam.m.b, %mb2 : tensor<4xf32>
  heddle.write @adam.v.b, %vb2 : tensor<4xf32>
  heddle.write @odd, %o2 : tensor<128x3xf32>
  heddle.write @adam.m.odd, %mo2 : tensor<128x3xf32>
  heddle.write @adam.v.odd, %vo2 : tensor<128x3xf32>
  heddle.write @seen, %s2 : tensor<64x4xf32>
  heddle.write @adam.m.seen, %ms2 : tensor<64x4xf32>
  heddle.write @adam.v.seen, %vs2 : tensor<64x4xf32>
  heddle.write @step, %step : tensor<1xi32>
  return %ms : tensor<64x4xf32>
}

// A moment's initial value is rounded.
// CHECK-LABEL: func.func @init
// CHECK: %[[ZERO:.*]] = heddle.fill 0
// CHECK: %[[ROUNDED:.*]] = arith.truncf %[[ZERO]] : tensor<64x4xf32> to tensor<64x4xbf16>
// CHECK: heddle.write @adam.v.w, %[[ROUNDED]] : tensor<64x4xbf16>
func.func @init() {
  %zero = heddle.fill 0.0 : f32 : tensor<64x4xf32>
  heddle.write @adam.v.w, %zero : tensor<64x4xf32>
  return
}

// -----

// If ranks could not share it then, no matrix is rounded, sharded or not.
// CHECK: heddle.variable @adam.m.w {{.*}} : tensor<16x8xbf16> {sharded}
// CHECK: heddle.variable @adam.m.x {{.*}} : tensor<8x8xf32> {sharded}
heddle.variable @step counter as steps : tensor<1xi32>
heddle.variable @w weight : tensor<16x8xf32>
heddle.variable @adam.m.w optimizer_state of @w as first_moment : tensor<16x8xf32> {sharded}
heddle.variable @adam.v.w optimizer_state of @w as second_moment : tensor<16x8xf32> {sharded}
heddle.variable @x weight : tensor<8x8xf32>
heddle.variable @adam.m.x optimizer_state of @x as first_moment : tensor<8x8xf32> {sharded}
heddle.variable @adam.v.x optimizer_state of @x as second_moment : tensor<8x8xf32> {sharded}
func.func @train_step(%gw: tensor<16x8xf32>, %gx: tensor<8x8xf32>, %r: tensor<1xf32>, %step: tensor<1xi32>) {
  %w = heddle.read @w : tensor<16x8xf32>
  %mw = heddle.read @adam.m.w : tensor<16x8xf32>
  %vw = heddle.read @adam.v.w : tensor<16x8xf32>
  %w2, %mw2, %vw2 = heddle.adam %w, %gw, %mw, %vw rate %r corrections %r, %r scale %r
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32, sharded} : tensor<16x8xf32>
  %x = heddle.read @x : tensor<8x8xf32>
  %mx = heddle.read @adam.m.x : tensor<8x8xf32>
  %vx = heddle.read @adam.v.x : tensor<8x8xf32>
  %x2, %mx2, %vx2 = heddle.adam %x, %gx, %mx, %vx rate %r corrections %r, %r scale %r
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32, sharded} : tensor<8x8xf32>
  heddle.write @adam.m.w, %mw2 : tensor<16x8xf32>
  heddle.write @adam.v.w, %vw2 : tensor<16x8xf32>
  heddle.write @adam.m.x, %mx2 : tensor<8x8xf32>
  heddle.write @adam.v.x, %vx2 : tensor<8x8xf32>
  heddle.write @step, %step : tensor<1xi32>
  return
}
