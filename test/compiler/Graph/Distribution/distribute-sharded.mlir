// RUN: heddle-opt %s --heddle-distribute=shard-optimizer=true | FileCheck %s
// RUN: heddle-opt %s --heddle-distribute | FileCheck %s --check-prefix=WHOLE

// WHOLE-NOT: sharded
// WHOLE-NOT: all_gather
// WHOLE-NOT: reduce_scatter

// CHECK: heddle.variable @adam.m.w {{.*}} : tensor<32x16xf32> {sharded}
// CHECK: heddle.variable @adam.v.w {{.*}} : tensor<32x16xf32> {sharded}
// CHECK: heddle.variable @ema.w {{.*}} : tensor<32x16xf32> {sharded}
heddle.variable @w weight : tensor<32x16xf32>
heddle.variable @adam.m.w optimizer_state of @w as first_moment : tensor<32x16xf32>
heddle.variable @adam.v.w optimizer_state of @w as second_moment : tensor<32x16xf32>
heddle.variable @ema.w optimizer_state of @w as average : tensor<32x16xf32>

// Parts of 7 numbers would begin at places where a GPU cannot read vectors.
// CHECK: heddle.variable @adam.m.odd {{.*}} : tensor<7xf32>{{$}}
heddle.variable @odd weight : tensor<7xf32>
heddle.variable @adam.m.odd optimizer_state of @odd as first_moment : tensor<7xf32>
heddle.variable @adam.v.odd optimizer_state of @odd as second_moment : tensor<7xf32>

// The entry reads a whole moment.
// CHECK: heddle.variable @adam.m.seen {{.*}} : tensor<64xf32>{{$}}
heddle.variable @seen weight : tensor<64xf32>
heddle.variable @adam.m.seen optimizer_state of @seen as first_moment : tensor<64xf32>
heddle.variable @adam.v.seen optimizer_state of @seen as second_moment : tensor<64xf32>

// A moment that does not begin with zero.
// CHECK: heddle.variable @adam.m.begun {{.*}} : tensor<64xf32>{{$}}
heddle.variable @begun weight : tensor<64xf32>
heddle.variable @adam.m.begun optimizer_state of @begun as first_moment : tensor<64xf32>
heddle.variable @adam.v.begun optimizer_state of @begun as second_moment : tensor<64xf32>

heddle.variable @reset_often weight : tensor<64xf32>
heddle.variable @adam.m.reset optimizer_state of @reset_often as first_moment : tensor<64xf32>
heddle.variable @adam.v.reset optimizer_state of @reset_often as second_moment : tensor<64xf32>
heddle.variable @both weight : tensor<64xf32>
heddle.variable @adam.m.both optimizer_state of @both as first_moment : tensor<64xf32>
heddle.variable @adam.v.both optimizer_state of @both as second_moment : tensor<64xf32>

// CHECK: heddle.variable @adam.m.v {{.*}} : tensor<64xf32> {sharded}
heddle.variable @v weight : tensor<64xf32>
heddle.variable @adam.m.v optimizer_state of @v as first_moment : tensor<64xf32>
heddle.variable @adam.v.v optimizer_state of @v as second_moment : tensor<64xf32>
heddle.variable @part weight : tensor<16xf32> in @v from 16
heddle.variable @adam.m.part optimizer_state of @part as first_moment : tensor<16xf32> in @adam.m.v from 16

// The results of a bucket's updates travel together, and the writes between them move behind. Nothing else uses the
// gradients, so each rank gets only the sums of its own rows.
// CHECK-LABEL: func.func @step
// CHECK-NOT:     all_reduce
// CHECK:         %[[S:.*]]:2 = heddle.reduce_scatter %{{.*}}, %{{.*}} as [@adam.m.v, @adam.m.w] : tensor<64xf32>, tensor<32x16xf32>
// CHECK:         %[[W:.*]], %{{.*}}, %{{.*}}, %{{.*}} = heddle.adam %{{.*}}, %[[S]]#1, {{.*}} sharded
// CHECK:         %[[V:.*]], %{{.*}}, %{{.*}} = heddle.adam %{{.*}}, %[[S]]#0, {{.*}} sharded
// CHECK-NEXT:    %[[NEW:.*]]:2 = heddle.all_gather %[[W]], %[[V]] as [@adam.m.w, @adam.m.v] : tensor<32x16xf32>, tensor<64xf32>
// CHECK-DAG:     heddle.write @w, %[[NEW]]#0
// CHECK-DAG:     heddle.write @v, %[[NEW]]#1
func.func @step(%gw: tensor<32x16xf32>, %gv: tensor<64xf32>) attributes {heddle.ranks} {
  %r = heddle.fill 1.0 : f32 : tensor<1xf32>
  %b = math.exp %gv : tensor<64xf32>
  %a = math.exp %gw : tensor<32x16xf32>
  %w = heddle.read @w : tensor<32x16xf32>
  %mw = heddle.read @adam.m.w : tensor<32x16xf32>
  %vw = heddle.read @adam.v.w : tensor<32x16xf32>
  %ew = heddle.read @ema.w : tensor<32x16xf32>
  %w2, %mw2, %vw2, %ew2 = heddle.adam %w, %a, %mw, %vw rate %r corrections %r, %r scale %r average %ew : tensor<32x16xf32> -> tensor<32x16xf32>
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32, decay = 0.5 : f32} : tensor<32x16xf32>
  heddle.write @w, %w2 : tensor<32x16xf32>
  heddle.write @adam.m.w, %mw2 : tensor<32x16xf32>
  heddle.write @adam.v.w, %vw2 : tensor<32x16xf32>
  heddle.write @ema.w, %ew2 : tensor<32x16xf32>
  %v = heddle.read @v : tensor<64xf32>
  %mv = heddle.read @adam.m.v : tensor<64xf32>
  %vv = heddle.read @adam.v.v : tensor<64xf32>
  %v2, %mv2, %vv2 = heddle.adam %v, %b, %mv, %vv rate %r corrections %r, %r scale %r
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32} : tensor<64xf32>
  heddle.write @v, %v2 : tensor<64xf32>
  heddle.write @adam.m.v, %mv2 : tensor<64xf32>
  heddle.write @adam.v.v, %vv2 : tensor<64xf32>
  return
}

// A norm needs all rows of a gradient on every rank. Each rank then gets all rows of its whole bucket.
// CHECK-LABEL: func.func @clipped
// CHECK-NOT:     reduce_scatter
// CHECK:         %[[S:.*]]:2 = heddle.all_reduce %{{.*}}, %{{.*}} : tensor<64xf32>, tensor<32x16xf32>
// CHECK-NOT:     reduce_scatter
// CHECK:         heddle.adam %{{.*}}, %[[S]]#0, {{.*}} sharded
// CHECK:         heddle.adam %{{.*}}, %[[S]]#1, {{.*}} sharded
func.func @clipped(%gw: tensor<32x16xf32>, %gv: tensor<64xf32>) -> tensor<64xf32> attributes {heddle.ranks} {
  %r = heddle.fill 1.0 : f32 : tensor<1xf32>
  %b = math.exp %gv : tensor<64xf32>
  %a = math.exp %gw : tensor<32x16xf32>
  %norm = arith.mulf %b, %b : tensor<64xf32>
  %v = heddle.read @v : tensor<64xf32>
  %mv = heddle.read @adam.m.v : tensor<64xf32>
  %vv = heddle.read @adam.v.v : tensor<64xf32>
  %v2, %mv2, %vv2 = heddle.adam %v, %b, %mv, %vv rate %r corrections %r, %r scale %r
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32} : tensor<64xf32>
  heddle.write @v, %v2 : tensor<64xf32>
  heddle.write @adam.m.v, %mv2 : tensor<64xf32>
  heddle.write @adam.v.v, %vv2 : tensor<64xf32>
  %w = heddle.read @w : tensor<32x16xf32>
  %mw = heddle.read @adam.m.w : tensor<32x16xf32>
  %vw = heddle.read @adam.v.w : tensor<32x16xf32>
  %ew = heddle.read @ema.w : tensor<32x16xf32>
  %w2, %mw2, %vw2, %ew2 = heddle.adam %w, %a, %mw, %vw rate %r corrections %r, %r scale %r average %ew : tensor<32x16xf32> -> tensor<32x16xf32>
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32, decay = 0.5 : f32} : tensor<32x16xf32>
  heddle.write @w, %w2 : tensor<32x16xf32>
  heddle.write @adam.m.w, %mw2 : tensor<32x16xf32>
  heddle.write @adam.v.w, %vw2 : tensor<32x16xf32>
  heddle.write @ema.w, %ew2 : tensor<32x16xf32>
  return %norm : tensor<64xf32>
}

// Another entry for several ranks returns the updated weight, so in every entry each rank computes the whole update.
// CHECK-LABEL: func.func @first
// CHECK-NOT:     sharded
// CHECK-LABEL: func.func @second
// CHECK-NOT:     sharded
func.func @first(%g: tensor<64xf32>) attributes {heddle.ranks} {
  %r = heddle.fill 1.0 : f32 : tensor<1xf32>
  %a = math.exp %g : tensor<64xf32>
  %w = heddle.read @both : tensor<64xf32>
  %m = heddle.read @adam.m.both : tensor<64xf32>
  %v = heddle.read @adam.v.both : tensor<64xf32>
  %w2, %m2, %v2 = heddle.adam %w, %a, %m, %v rate %r corrections %r, %r scale %r
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32} : tensor<64xf32>
  heddle.write @both, %w2 : tensor<64xf32>
  heddle.write @adam.m.both, %m2 : tensor<64xf32>
  heddle.write @adam.v.both, %v2 : tensor<64xf32>
  return
}
func.func @second(%g: tensor<64xf32>) -> tensor<64xf32> attributes {heddle.ranks} {
  %r = heddle.fill 1.0 : f32 : tensor<1xf32>
  %a = math.exp %g : tensor<64xf32>
  %w = heddle.read @both : tensor<64xf32>
  %m = heddle.read @adam.m.both : tensor<64xf32>
  %v = heddle.read @adam.v.both : tensor<64xf32>
  %w2, %m2, %v2 = heddle.adam %w, %a, %m, %v rate %r corrections %r, %r scale %r
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32} : tensor<64xf32>
  heddle.write @both, %w2 : tensor<64xf32>
  heddle.write @adam.m.both, %m2 : tensor<64xf32>
  heddle.write @adam.v.both, %v2 : tensor<64xf32>
  return %w2 : tensor<64xf32>
}

// CHECK-LABEL: func.func @others
// CHECK-NOT:     sharded
// CHECK-NOT:     all_gather
func.func @others(%go: tensor<7xf32>, %gs: tensor<64xf32>, %gb: tensor<64xf32>) -> tensor<64xf32> attributes {heddle.ranks} {
  %r = heddle.fill 1.0 : f32 : tensor<1xf32>
  %a = math.exp %go : tensor<7xf32>
  %b = math.exp %gs : tensor<64xf32>
  %c = math.exp %gb : tensor<64xf32>
  %o = heddle.read @odd : tensor<7xf32>
  %mo = heddle.read @adam.m.odd : tensor<7xf32>
  %vo = heddle.read @adam.v.odd : tensor<7xf32>
  %o2, %mo2, %vo2 = heddle.adam %o, %a, %mo, %vo rate %r corrections %r, %r scale %r
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32} : tensor<7xf32>
  heddle.write @odd, %o2 : tensor<7xf32>
  heddle.write @adam.m.odd, %mo2 : tensor<7xf32>
  heddle.write @adam.v.odd, %vo2 : tensor<7xf32>
  %s = heddle.read @seen : tensor<64xf32>
  %ms = heddle.read @adam.m.seen : tensor<64xf32>
  %vs = heddle.read @adam.v.seen : tensor<64xf32>
  %s2, %ms2, %vs2 = heddle.adam %s, %b, %ms, %vs rate %r corrections %r, %r scale %r
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32} : tensor<64xf32>
  heddle.write @seen, %s2 : tensor<64xf32>
  heddle.write @adam.m.seen, %ms2 : tensor<64xf32>
  heddle.write @adam.v.seen, %vs2 : tensor<64xf32>
  %look = math.exp %ms : tensor<64xf32>
  %w = heddle.read @begun : tensor<64xf32>
  %mb = heddle.read @adam.m.begun : tensor<64xf32>
  %vb = heddle.read @adam.v.begun : tensor<64xf32>
  %w2, %mb2, %vb2 = heddle.adam %w, %c, %mb, %vb rate %r corrections %r, %r scale %r
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32} : tensor<64xf32>
  heddle.write @begun, %w2 : tensor<64xf32>
  heddle.write @adam.m.begun, %mb2 : tensor<64xf32>
  heddle.write @adam.v.begun, %vb2 : tensor<64xf32>
  return %look : tensor<64xf32>
}

// Only `init` may rely on the runtime for zeros.
// CHECK-LABEL: func.func @third
// CHECK-NOT:     sharded
// CHECK-LABEL: func.func @reset
// CHECK:         heddle.write @adam.m.reset
func.func @third(%g: tensor<64xf32>) attributes {heddle.ranks} {
  %r = heddle.fill 1.0 : f32 : tensor<1xf32>
  %a = math.exp %g : tensor<64xf32>
  %w = heddle.read @reset_often : tensor<64xf32>
  %m = heddle.read @adam.m.reset : tensor<64xf32>
  %v = heddle.read @adam.v.reset : tensor<64xf32>
  %w2, %m2, %v2 = heddle.adam %w, %a, %m, %v rate %r corrections %r, %r scale %r
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32} : tensor<64xf32>
  heddle.write @reset_often, %w2 : tensor<64xf32>
  heddle.write @adam.m.reset, %m2 : tensor<64xf32>
  heddle.write @adam.v.reset, %v2 : tensor<64xf32>
  return
}
func.func @reset() {
  %zero = heddle.fill 0.0 : f32 : tensor<64xf32>
  heddle.write @adam.m.reset, %zero : tensor<64xf32>
  return
}

// The runtime writes the zeros.
// CHECK-LABEL: func.func @init
// CHECK-NOT:     heddle.write @adam.m.w
// CHECK:         heddle.write @w,
// CHECK-NOT:     heddle.write @adam.v.w
// CHECK:         heddle.write @adam.m.odd
// CHECK:         heddle.write @adam.m.begun
// CHECK-NOT:     heddle.write @adam.m.part
// WHOLE-LABEL: func.func @init
// WHOLE:         heddle.write @adam.m.w
func.func @init() {
  %zero = heddle.fill 0.0 : f32 : tensor<32x16xf32>
  heddle.write @adam.m.w, %zero : tensor<32x16xf32>
  heddle.write @w, %zero : tensor<32x16xf32>
  %zero2 = heddle.fill 0.0 : f32 : tensor<32x16xf32>
  heddle.write @adam.v.w, %zero2 : tensor<32x16xf32>
  %zero3 = heddle.fill 0.0 : f32 : tensor<7xf32>
  heddle.write @adam.m.odd, %zero3 : tensor<7xf32>
  %one = heddle.fill 1.0 : f32 : tensor<64xf32>
  heddle.write @adam.m.begun, %one : tensor<64xf32>
  %zero4 = heddle.fill 0.0 : f32 : tensor<16xf32>
  heddle.write @adam.m.part, %zero4 : tensor<16xf32>
  return
}
