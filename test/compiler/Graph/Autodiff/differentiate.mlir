// RUN: heddle-opt %s --heddle-differentiate --split-input-file | FileCheck %s

!x = tensor<?x8xf32, #heddle.dims<"tokens">>

heddle.variable @step counter as steps : tensor<1xi32>
heddle.variable @bias weight : tensor<8xf32>
heddle.variable @adam.m.bias optimizer_state of @bias as first_moment : tensor<8xf32>
heddle.variable @adam.v.bias optimizer_state of @bias as second_moment : tensor<8xf32>
heddle.variable @w weight : tensor<8x8xf32>
heddle.variable @adam.m.w optimizer_state of @w as first_moment : tensor<8x8xf32>
heddle.variable @adam.v.w optimizer_state of @w as second_moment : tensor<8x8xf32>
heddle.variable @unused weight : tensor<8xf32>

// CHECK-LABEL: func.func @minimize
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32, #heddle.dims<"tokens">>
func.func @minimize(%x: !x) -> (tensor<1xf32>, tensor<1xf32>) {
  // CHECK: %[[W:.*]] = heddle.read @w
  // CHECK: %[[BIAS:.*]] = heddle.read @bias
  %w = heddle.read @w : tensor<8x8xf32>
  %bias = heddle.read @bias : tensor<8xf32>
  %unused = heddle.read @unused : tensor<8xf32>
  %h = heddle.matmul %x, %w : !x, tensor<8x8xf32> -> !x
  %b = heddle.broadcast %bias : tensor<8xf32> to !x
  %y = arith.addf %h, %b : !x
  %r = heddle.sum rows %y : !x -> tensor<8xf32>
  // CHECK: %[[LOSS:.*]] = heddle.sum columns
  %loss = heddle.sum columns %r : tensor<8xf32> -> tensor<1xf32>

  // The backward pass, last op first.
  // CHECK: %[[DY:.*]] = heddle.broadcast %{{.*}} to tensor<?x8xf32
  // CHECK-NEXT: %[[DBIAS:.*]] = heddle.sum rows %[[DY]]
  // CHECK-NEXT: %[[DW:.*]] = heddle.matmul %[[X]], %[[DY]] {transpose_lhs}

  // The step counts from 1, and its number sets the rate.
  // CHECK-NEXT: %[[BEFORE:.*]] = heddle.read @step : tensor<1xi32>
  // CHECK-NEXT: %[[ONE:.*]] = heddle.fill 1 : i32
  // CHECK-NEXT: %[[STEP:.*]] = arith.addi %[[BEFORE]], %[[ONE]]
  // CHECK-NEXT: %[[S:.*]] = arith.sitofp %[[STEP]] : tensor<1xi32> to tensor<1xf32>
  // CHECK-NEXT: %[[PEAK:.*]] = heddle.fill 1.000000e-03 : f32
  // CHECK-NEXT: %[[WARMUP:.*]] = heddle.fill 1.000000e+02 : f32
  // CHECK-NEXT: %[[RISE:.*]] = arith.divf %[[S]], %[[WARMUP]]
  // CHECK-NEXT: %[[SQUARE:.*]] = arith.divf %[[WARMUP]], %[[S]]
  // CHECK-NEXT: %[[FALL:.*]] = math.sqrt %[[SQUARE]]
  // CHECK-NEXT: %[[FACTOR:.*]] = arith.minimumf %[[RISE]], %[[FALL]]
  // CHECK-NEXT: %[[RATE:.*]] = arith.mulf %[[PEAK]], %[[FACTOR]]

  // The corrections 1 / (1 - beta^s): ln 0.9 and ln 0.98.
  // CHECK-NEXT: %[[LN1:.*]] = heddle.fill -0.10536
  // CHECK-NEXT: %[[E1:.*]] = arith.mulf %[[S]], %[[LN1]]
  // CHECK-NEXT: %[[P1:.*]] = math.exp %[[E1]]
  // CHECK-NEXT: %[[I1:.*]] = heddle.fill 1.0
  // CHECK-NEXT: %[[D1:.*]] = arith.subf %[[I1]], %[[P1]]
  // CHECK-NEXT: %[[C1:.*]] = arith.divf %[[I1]], %[[D1]]
  // CHECK-NEXT: %[[STEP_SIZE:.*]] = arith.mulf %[[RATE]], %[[C1]]
  // CHECK-NEXT: %[[NONE:.*]] = heddle.fill 1.0
  // CHECK-NEXT: heddle.fill -0.02020
  // CHECK: %[[C2:.*]] = arith.divf

  // Clipping by the global norm of all gradients.
  // CHECK-NEXT: %[[SQW:.*]] = arith.mulf %[[DW]], %[[DW]]
  // CHECK-NEXT: %[[ROW:.*]] = heddle.sum rows %[[SQW]] : tensor<8x8xf32> -> tensor<8xf32>
  // CHECK-NEXT: %[[SQB:.*]] = arith.mulf %[[DBIAS]], %[[DBIAS]]
  // CHECK-NEXT: %[[ALL:.*]] = heddle.concat %[[ROW]], %[[SQB]] : tensor<8xf32>, tensor<8xf32> to tensor<16xf32>
  // CHECK-NEXT: %[[SUM:.*]] = heddle.sum columns %[[ALL]] : tensor<16xf32> -> tensor<1xf32>
  // CHECK-NEXT: %[[NORM:.*]] = math.sqrt %[[SUM]]
  // CHECK-NEXT: %[[TINY:.*]] = heddle.fill 9.99999997E-7
  // CHECK-NEXT: %[[GUARDED:.*]] = arith.addf %[[NORM]], %[[TINY]]
  // CHECK-NEXT: %[[CLIP:.*]] = heddle.fill 2.0
  // CHECK-NEXT: %[[RATIO:.*]] = arith.divf %[[CLIP]], %[[GUARDED]]
  // CHECK-NEXT: %[[I:.*]] = heddle.fill 1.0
  // CHECK-NEXT: %[[SCALE:.*]] = arith.minimumf %[[I]], %[[RATIO]]

  // CHECK-NEXT: %[[MW:.*]] = heddle.read @adam.m.w
  // CHECK-NEXT: %[[VW:.*]] = heddle.read @adam.v.w
  // CHECK-NEXT: %[[W2:.*]], %[[MW2:.*]], %[[VW2:.*]] = heddle.adam %[[W]], %[[DW]], %[[MW]], %[[VW]] rate %[[STEP_SIZE]] corrections %[[NONE]], %[[C2]] scale %[[SCALE]] {beta1 = 0.899999976 : f32, beta2 = 9.800000e-01 : f32, epsilon = 9.99999971E-10 : f32}
  // CHECK-NEXT: %[[MB:.*]] = heddle.read @adam.m.bias
  // CHECK-NEXT: %[[VB:.*]] = heddle.read @adam.v.bias
  // CHECK-NEXT: %[[B2:.*]], %[[MB2:.*]], %[[VB2:.*]] = heddle.adam %[[BIAS]], %[[DBIAS]], %[[MB]], %[[VB]]
  %rate = heddle.minimize %loss {beta1 = 0.9 : f32, beta2 = 0.98 : f32,
                                 epsilon = 1.0e-9 : f32, clip_norm = 2.0 : f32} rate {
  ^bb0(%number: tensor<1xf32>):
    %rate_peak = heddle.fill 1.0e-3 : f32 : tensor<1xf32>
    %rate_warmup = heddle.fill 100.0 : f32 : tensor<1xf32>
    %rate_rise = arith.divf %number, %rate_warmup : tensor<1xf32>
    %rate_square = arith.divf %rate_warmup, %number : tensor<1xf32>
    %rate_fall = math.sqrt %rate_square : tensor<1xf32>
    %rate_factor = arith.minimumf %rate_rise, %rate_fall : tensor<1xf32>
    %rate_now = arith.mulf %rate_peak, %rate_factor : tensor<1xf32>
    heddle.yield %rate_now : tensor<1xf32>
  }

  // Writes come last, after all other readers of the weights.
  // CHECK-NEXT: heddle.matmul %[[X]], %[[W]]
  %again = heddle.matmul %x, %w : !x, tensor<8x8xf32> -> !x
  // CHECK-NEXT: heddle.kernel
  // CHECK: heddle.write @step, %[[STEP]]
  // CHECK-NEXT: heddle.write @w, %[[W2]]
  // CHECK-NEXT: heddle.write @adam.m.w, %[[MW2]]
  // CHECK-NEXT: heddle.write @adam.v.w, %[[VW2]]
  // CHECK-NEXT: heddle.write @bias, %[[B2]]
  // CHECK-NEXT: heddle.write @adam.m.bias, %[[MB2]]
  // CHECK-NEXT: heddle.write @adam.v.bias, %[[VB2]]
  // CHECK-NEXT: return %[[LOSS]], %[[RATE]]
  heddle.kernel "print" (%again : !x) {
  ^bb0(%a: !x):
    heddle.yield
  }
  return %loss, %rate : tensor<1xf32>, tensor<1xf32>
}

// -----

// The rate may be a constant, a beta of 0 needs no correction, and a clip_norm of 0 does not clip.
heddle.variable @step counter as steps : tensor<1xi32>
heddle.variable @w weight : tensor<8xf32>
heddle.variable @adam.m.w optimizer_state of @w as first_moment : tensor<8xf32>
heddle.variable @adam.v.w optimizer_state of @w as second_moment : tensor<8xf32>

// CHECK-LABEL: func.func @plain
func.func @plain() -> tensor<1xf32> {
  %w = heddle.read @w : tensor<8xf32>
  %loss = heddle.sum columns %w : tensor<8xf32> -> tensor<1xf32>
  // CHECK: %[[S:.*]] = arith.sitofp
  // CHECK-NEXT: %[[RATE:.*]] = heddle.fill 1.000000e-03 : f32
  // CHECK-NEXT: %[[C1:.*]] = heddle.fill 1.0
  // CHECK-NEXT: %[[STEP_SIZE:.*]] = arith.mulf %[[RATE]], %[[C1]]
  // CHECK-NEXT: %[[NONE:.*]] = heddle.fill 1.0
  // CHECK: %[[C2:.*]] = arith.divf
  // CHECK-NEXT: %[[SCALE:.*]] = heddle.fill 1.0
  // CHECK: heddle.adam {{.*}} rate %[[STEP_SIZE]] corrections %[[NONE]], %[[C2]] scale %[[SCALE]]
  %rate = heddle.minimize %loss {beta1 = 0.0 : f32, beta2 = 0.98 : f32,
                                 epsilon = 1.0e-9 : f32, clip_norm = 0.0 : f32} rate {
  ^bb0(%number: tensor<1xf32>):
    %rate_peak = heddle.fill 1.0e-3 : f32 : tensor<1xf32>
    heddle.yield %rate_peak : tensor<1xf32>
  }
  // CHECK: return %[[RATE]]
  return %rate : tensor<1xf32>
}

// -----

// Two entries share the variables. One accumulates gradients; the other updates the weights with them and resets them
// to zero.
heddle.variable @step counter as steps : tensor<1xi32>
heddle.variable @w weight : tensor<8xf32>
heddle.variable @grad.w gradient of @w as gradient : tensor<8xf32>
heddle.variable @adam.m.w optimizer_state of @w as first_moment : tensor<8xf32>
heddle.variable @adam.v.w optimizer_state of @w as second_moment : tensor<8xf32>
heddle.variable @frozen weight : tensor<8xf32>

// CHECK-LABEL: func.func @accumulate_step
// CHECK-SAME: %[[X:.*]]: tensor<8xf32>
func.func @accumulate_step(%x: tensor<8xf32>) {
  // A value that is read twice and used three times: its gradients are added.
  %w0 = heddle.read @w : tensor<8xf32>
  %w1 = heddle.read @w : tensor<8xf32>
  %p = arith.mulf %w0, %x : tensor<8xf32>
  %q = arith.addf %w1, %w1 : tensor<8xf32>
  %y = arith.addf %p, %q : tensor<8xf32>
  %loss = heddle.sum columns %y : tensor<8xf32> -> tensor<1xf32>
  // CHECK: %[[DY:.*]] = heddle.broadcast
  // CHECK-NEXT: %[[D0:.*]] = arith.addf %[[DY]], %[[DY]]
  // CHECK-NEXT: %[[D1:.*]] = arith.mulf %[[DY]], %[[X]]
  // CHECK-NEXT: %[[DW:.*]] = arith.addf %[[D0]], %[[D1]]
  // CHECK-NEXT: %[[BEFORE:.*]] = heddle.read @grad.w
  // CHECK-NEXT: %[[AFTER:.*]] = arith.addf %[[BEFORE]], %[[DW]]
  // CHECK-NEXT: heddle.write @grad.w, %[[AFTER]]
  // CHECK-NEXT: return
  heddle.accumulate %loss
  return
}

// CHECK-LABEL: func.func @apply_step
func.func @apply_step() -> tensor<1xf32> {
  // CHECK-NEXT: %[[W:.*]] = heddle.read @w
  // CHECK-NEXT: %[[G:.*]] = heddle.read @grad.w
  // CHECK-NEXT: heddle.read @step
  // CHECK: arith.mulf %[[G]], %[[G]]
  // CHECK: heddle.adam %[[W]], %[[G]]
  // CHECK-NEXT: %[[ZEROS:.*]] = heddle.fill 0.0
  // CHECK-NEXT: heddle.write @grad.w, %[[ZEROS]]
  // CHECK-NEXT: heddle.write @step
  // CHECK-NEXT: heddle.write @w
  // CHECK-NEXT: heddle.write @adam.m.w
  // CHECK-NEXT: heddle.write @adam.v.w
  // CHECK-NOT: @frozen
  // CHECK: return
  %rate = heddle.apply {beta1 = 0.9 : f32, beta2 = 0.98 : f32,
                        epsilon = 1.0e-9 : f32, clip_norm = 1.0 : f32} rate {
  ^bb0(%number: tensor<1xf32>):
    %rate_peak = heddle.fill 1.0e-3 : f32 : tensor<1xf32>
    %rate_warmup = heddle.fill 100.0 : f32 : tensor<1xf32>
    %rate_rise = arith.divf %number, %rate_warmup : tensor<1xf32>
    %rate_square = arith.divf %rate_warmup, %number : tensor<1xf32>
    %rate_fall = math.sqrt %rate_square : tensor<1xf32>
    %rate_factor = arith.minimumf %rate_rise, %rate_fall : tensor<1xf32>
    %rate_now = arith.mulf %rate_peak, %rate_factor : tensor<1xf32>
    heddle.yield %rate_now : tensor<1xf32>
  }
  return %rate : tensor<1xf32>
}

// -----

// One table serves source, target and the linear transformation before softmax. The gradients of its rows are scattered
// onto the matmul's gradient, in one table.
!source = tensor<?xi32, #heddle.dims<"source">>
!target = tensor<?xi32, #heddle.dims<"target">>

heddle.variable @step counter as steps : tensor<1xi32>
heddle.variable @table weight : tensor<32x8xf32>
heddle.variable @adam.m.table optimizer_state of @table as first_moment : tensor<32x8xf32>
heddle.variable @adam.v.table optimizer_state of @table as second_moment : tensor<32x8xf32>

// CHECK-LABEL: func.func @tied
// CHECK-SAME: %[[SOURCE:.*]]: tensor<?xi32, #heddle.dims<"source">>, %[[TARGET:.*]]: tensor<?xi32, #heddle.dims<"target">>
func.func @tied(%source: !source, %target: !target) {
  %table = heddle.read @table : tensor<32x8xf32>
  %s = heddle.embedding %source, %table : !source, tensor<32x8xf32> -> tensor<?x8xf32, #heddle.dims<"source">>
  %c = heddle.sum rows %s : tensor<?x8xf32, #heddle.dims<"source">> -> tensor<8xf32>
  %b = heddle.broadcast %c : tensor<8xf32> to tensor<?x8xf32, #heddle.dims<"target">>
  %t = heddle.embedding %target, %table : !target, tensor<32x8xf32> -> tensor<?x8xf32, #heddle.dims<"target">>
  %h = arith.addf %t, %b : tensor<?x8xf32, #heddle.dims<"target">>
  %logits = heddle.matmul %h, %table {transpose_rhs} : tensor<?x8xf32, #heddle.dims<"target">>, tensor<32x8xf32> -> tensor<?x32xf32, #heddle.dims<"target">>
  %losses, %lse = heddle.cross_entropy %logits, %target {smoothing = 0.0 : f32} : tensor<?x32xf32, #heddle.dims<"target">>, !target -> tensor<?xf32, #heddle.dims<"target">>
  %loss = heddle.sum rows %losses : tensor<?xf32, #heddle.dims<"target">> -> tensor<1xf32>
  // CHECK: heddle.cross_entropy_grad
  // CHECK-NOT: heddle.fill {{.*}} tensor<32x8xf32>
  // CHECK: %[[DH:.*]] = heddle.matmul {{.*}} -> tensor<?x8xf32
  // CHECK: %[[PRODUCT:.*]] = heddle.matmul {{.*}} -> tensor<32x8xf32>
  // CHECK-NEXT: %[[BOTH:.*]] = heddle.scatter_add %[[PRODUCT]], %[[TARGET]], %[[DH]]
  // CHECK-NOT: heddle.fill {{.*}} tensor<32x8xf32>
  // CHECK: %[[DS:.*]] = heddle.broadcast {{.*}} to tensor<?x8xf32, #heddle.dims<"source">>
  // CHECK-NEXT: %[[ALL:.*]] = heddle.scatter_add %[[BOTH]], %[[SOURCE]], %[[DS]]
  // CHECK-NOT: heddle.fill {{.*}} tensor<32x8xf32>
  // CHECK: heddle.adam %{{.*}}, %[[ALL]]
  %rate = heddle.minimize %loss {beta1 = 0.9 : f32, beta2 = 0.98 : f32,
                                 epsilon = 1.0e-9 : f32, clip_norm = 0.0 : f32} rate {
  ^bb0(%number: tensor<1xf32>):
    %rate_peak = heddle.fill 1.0e-3 : f32 : tensor<1xf32>
    %rate_warmup = heddle.fill 100.0 : f32 : tensor<1xf32>
    %rate_rise = arith.divf %number, %rate_warmup : tensor<1xf32>
    %rate_square = arith.divf %rate_warmup, %number : tensor<1xf32>
    %rate_fall = math.sqrt %rate_square : tensor<1xf32>
    %rate_factor = arith.minimumf %rate_rise, %rate_fall : tensor<1xf32>
    %rate_now = arith.mulf %rate_peak, %rate_factor : tensor<1xf32>
    heddle.yield %rate_now : tensor<1xf32>
  }
  return
}

// -----

// If the table is not tied, its gradient is a row for each token until the update reads it. No table of zeros is made.
!source = tensor<?xi32, #heddle.dims<"source">>
!rows = tensor<?x8xf32, #heddle.dims<"source">>
heddle.variable @step counter as steps : tensor<1xi32>
heddle.variable @table weight : tensor<32x8xf32>
heddle.variable @adam.m.table optimizer_state of @table as first_moment : tensor<32x8xf32>
heddle.variable @adam.v.table optimizer_state of @table as second_moment : tensor<32x8xf32>

// CHECK-LABEL: func.func @untied
// CHECK-SAME: %[[I:.*]]: tensor<?xi32
func.func @untied(%i: !source) {
  %table = heddle.read @table : tensor<32x8xf32>
  %s = heddle.embedding %i, %table : !source, tensor<32x8xf32> -> !rows
  %a = heddle.sum rows %s : !rows -> tensor<8xf32>
  %loss = heddle.sum columns %a : tensor<8xf32> -> tensor<1xf32>
  // CHECK: %[[DS:.*]] = heddle.broadcast {{.*}} to tensor<?x8xf32
  // CHECK-NEXT: %[[FIRST:.*]] = heddle.find_first %[[I]] : {{.*}} -> tensor<32x1xi32>
  // CHECK-NEXT: %[[SUMS:.*]] = heddle.sum_equal %[[I]], %[[FIRST]], %[[DS]]
  // CHECK-NEXT: %[[GRADIENT:.*]] = heddle.densify %[[FIRST]], %[[SUMS]] : {{.*}} -> tensor<32x8xf32>
  // CHECK: heddle.adam %{{.*}}, %[[GRADIENT]]
  %rate = heddle.minimize %loss {beta1 = 0.9 : f32, beta2 = 0.98 : f32,
                                 epsilon = 1.0e-9 : f32, clip_norm = 0.0 : f32} rate {
  ^bb0(%number: tensor<1xf32>):
    %rate_peak = heddle.fill 1.0e-3 : f32 : tensor<1xf32>
    %rate_warmup = heddle.fill 100.0 : f32 : tensor<1xf32>
    %rate_rise = arith.divf %number, %rate_warmup : tensor<1xf32>
    %rate_square = arith.divf %rate_warmup, %number : tensor<1xf32>
    %rate_fall = math.sqrt %rate_square : tensor<1xf32>
    %rate_factor = arith.minimumf %rate_rise, %rate_fall : tensor<1xf32>
    %rate_now = arith.mulf %rate_peak, %rate_factor : tensor<1xf32>
    heddle.yield %rate_now : tensor<1xf32>
  }
  return
}

// -----

// If the uses come in the other order, the matmul is added to the existing sums of rows.
heddle.variable @step counter as steps : tensor<1xi32>
heddle.variable @table weight : tensor<32x8xf32>
heddle.variable @grad.table gradient of @table as gradient : tensor<32x8xf32>

// CHECK-LABEL: func.func @scatter_first
// CHECK-SAME: %[[I:.*]]: tensor<?xi32
func.func @scatter_first(%i: tensor<?xi32, #heddle.dims<"source">>) {
  %table = heddle.read @table : tensor<32x8xf32>
  %p = math.exp %table : tensor<32x8xf32>
  %s = heddle.embedding %i, %table : tensor<?xi32, #heddle.dims<"source">>, tensor<32x8xf32> -> tensor<?x8xf32, #heddle.dims<"source">>
  %a = heddle.sum rows %s : tensor<?x8xf32, #heddle.dims<"source">> -> tensor<8xf32>
  %b = heddle.sum rows %p : tensor<32x8xf32> -> tensor<8xf32>
  %c = arith.addf %a, %b : tensor<8xf32>
  %loss = heddle.sum columns %c : tensor<8xf32> -> tensor<1xf32>
  // CHECK: %[[DENSE:.*]] = arith.mulf {{.*}} : tensor<32x8xf32>
  // CHECK-NEXT: %[[SUM:.*]] = heddle.scatter_add %[[DENSE]], %[[I]]
  // CHECK-NEXT: %[[BEFORE:.*]] = heddle.read @grad.table
  // CHECK-NEXT: %[[AFTER:.*]] = arith.addf %[[BEFORE]], %[[SUM]]
  heddle.accumulate %loss
  return
}

// -----

// Sums of rows come last, because they are computed in place in the value that they are added to. %x * %x gets the same
// gradient twice.
heddle.variable @table weight : tensor<32x8xf32>
heddle.variable @grad.table gradient of @table as gradient : tensor<32x8xf32>

// CHECK-LABEL: func.func @scatter_last
func.func @scatter_last(%i: tensor<?xi32, #heddle.dims<"source">>) {
  %table = heddle.read @table : tensor<32x8xf32>
  %square = arith.mulf %table, %table : tensor<32x8xf32>
  %s = heddle.embedding %i, %table : tensor<?xi32, #heddle.dims<"source">>, tensor<32x8xf32> -> tensor<?x8xf32, #heddle.dims<"source">>
  %a = heddle.sum rows %s : tensor<?x8xf32, #heddle.dims<"source">> -> tensor<8xf32>
  %b = heddle.sum rows %square : tensor<32x8xf32> -> tensor<8xf32>
  %c = arith.addf %a, %b : tensor<8xf32>
  %loss = heddle.sum columns %c : tensor<8xf32> -> tensor<1xf32>
  // CHECK-COUNT-3: arith.mulf {{.*}} : tensor<32x8xf32>
  // CHECK-NEXT: %[[DENSE:.*]] = arith.addf
  // CHECK-NEXT: heddle.scatter_add %[[DENSE]]
  // CHECK-NEXT: heddle.read @grad.table
  heddle.accumulate %loss
  return
}

// -----

// With an average of the weights, Adam keeps it.
heddle.variable @step counter as steps : tensor<1xi32>
heddle.variable @w weight : tensor<8xf32>
heddle.variable @adam.m.w optimizer_state of @w as first_moment : tensor<8xf32>
heddle.variable @adam.v.w optimizer_state of @w as second_moment : tensor<8xf32>
heddle.variable @ema.w optimizer_state of @w as average : tensor<8xf32>

// CHECK-LABEL: func.func @averaged
func.func @averaged() -> tensor<1xf32> {
  %w = heddle.read @w : tensor<8xf32>
  %loss = heddle.sum columns %w : tensor<8xf32> -> tensor<1xf32>
  // CHECK: %[[A:.*]] = heddle.read @ema.w
  // CHECK: heddle.adam {{.*}} average %[[A]] : tensor<8xf32> -> tensor<8xf32> {{{.*}}decay = 9.900000e-01 : f32
  // CHECK: heddle.write @ema.w, %new_average
  %rate = heddle.minimize %loss {beta1 = 0.9 : f32, beta2 = 0.98 : f32,
                                 epsilon = 1.0e-9 : f32, clip_norm = 0.0 : f32, average_decay = 0.99 : f32} rate {
  ^bb0(%number: tensor<1xf32>):
    %rate_peak = heddle.fill 1.0e-3 : f32 : tensor<1xf32>
    heddle.yield %rate_peak : tensor<1xf32>
  }
  return %rate : tensor<1xf32>
}

// -----

// With loss scaling the gradient begins with the scale, and the update divides by it. If the sum of squares is not
// finite, the update is skipped and the scale is halved. Skipped steps do not count for Adam's corrections.
heddle.variable @step counter as steps : tensor<1xi32>
heddle.variable @loss_scale optimizer_state as loss_scale : tensor<1xf32>
heddle.variable @good_steps counter as good_steps : tensor<1xi32>
heddle.variable @skipped_steps counter as skipped_steps : tensor<1xi32>
heddle.variable @w weight : tensor<8xf32>
heddle.variable @adam.m.w optimizer_state of @w as first_moment : tensor<8xf32>
heddle.variable @adam.v.w optimizer_state of @w as second_moment : tensor<8xf32>

// CHECK-LABEL: func.func @scaled
func.func @scaled() -> tensor<1xf32> {
  %w = heddle.read @w : tensor<8xf32>
  %loss = heddle.sum columns %w : tensor<8xf32> -> tensor<1xf32>
  // CHECK: %[[SCALE:.*]] = heddle.read @loss_scale
  // CHECK: %[[G:.*]] = heddle.broadcast %[[SCALE]]
  // CHECK: %[[SKIPPED:.*]] = heddle.read @skipped_steps
  // CHECK: arith.subf %{{.*}}, %{{.*}}
  // CHECK: %[[SQUARES:.*]] = arith.mulf %[[G]], %[[G]]
  // CHECK: %[[SUM:.*]] = heddle.sum columns %[[SQUARES]]
  // CHECK: %[[MOST:.*]] = heddle.fill 3.40282347E+38
  // CHECK: %[[FINITE:.*]] = arith.cmpf ole, %[[SUM]], %[[MOST]]
  // CHECK: %[[INVERSE:.*]] = arith.divf
  // CHECK: heddle.fill 5 : i32
  // CHECK: %[[FACTOR:.*]] = arith.select %[[FINITE]], %[[INVERSE]], %{{.*}}
  // CHECK: heddle.adam {{.*}} scale %[[FACTOR]] {{{.*}}skips}
  // CHECK: heddle.write @loss_scale
  // CHECK: heddle.write @good_steps
  // CHECK: heddle.write @skipped_steps
  %rate = heddle.minimize %loss {beta1 = 0.9 : f32, beta2 = 0.98 : f32,
                                 epsilon = 1.0e-9 : f32, clip_norm = 0.0 : f32, scale_interval = 5 : i64} rate {
  ^bb0(%number: tensor<1xf32>):
    %rate_peak = heddle.fill 1.0e-3 : f32 : tensor<1xf32>
    heddle.yield %rate_peak : tensor<1xf32>
  }
  return %rate : tensor<1xf32>
}

// -----

// AdamW shrinks matrices by learning rate times weight_decay before the update, and never shrinks biases. A skipped
// step changes neither.
heddle.variable @step counter as steps : tensor<1xi32>
heddle.variable @loss_scale optimizer_state as loss_scale : tensor<1xf32>
heddle.variable @good_steps counter as good_steps : tensor<1xi32>
heddle.variable @skipped_steps counter as skipped_steps : tensor<1xi32>
heddle.variable @w weight : tensor<4x8xf32>
heddle.variable @adam.m.w optimizer_state of @w as first_moment : tensor<4x8xf32>
heddle.variable @adam.v.w optimizer_state of @w as second_moment : tensor<4x8xf32>
heddle.variable @b weight : tensor<8xf32>
heddle.variable @adam.m.b optimizer_state of @b as first_moment : tensor<8xf32>
heddle.variable @adam.v.b optimizer_state of @b as second_moment : tensor<8xf32>

// CHECK-LABEL: func.func @decayed
func.func @decayed() -> tensor<1xf32> {
  // CHECK: %[[W:.*]] = heddle.read @w
  // CHECK: %[[B:.*]] = heddle.read @b
  // CHECK: %[[RATE:.*]] = heddle.fill 1.000000e-03
  // CHECK: %[[SCALE:.*]] = heddle.read @loss_scale
  // CHECK: %[[INVERSE:.*]] = arith.divf %{{.*}}, %[[SCALE]]
  // CHECK: %[[FACTOR:.*]] = arith.select %{{.*}}, %[[INVERSE]], %{{.*}}
  // CHECK: %[[DECAY:.*]] = heddle.fill 2.500000e-01
  // CHECK: %[[LOST:.*]] = arith.mulf %[[RATE]], %[[DECAY]]
  // CHECK: %[[KEPT:.*]] = arith.subf %{{.*}}, %[[LOST]]
  // CHECK: %[[TAKEN:.*]] = arith.cmpf ogt, %[[FACTOR]], %{{.*}}
  // CHECK: %[[SHRINK:.*]] = arith.select %[[TAKEN]], %[[KEPT]], %{{.*}}
  // CHECK: %[[WIDE:.*]] = heddle.broadcast %[[SHRINK]]
  // CHECK: %[[SMALLER:.*]] = arith.mulf %[[W]], %[[WIDE]]
  // CHECK: heddle.adam %[[SMALLER]], {{.*}} : tensor<4x8xf32>
  // CHECK: heddle.adam %[[B]], {{.*}} : tensor<8xf32>
  %w = heddle.read @w : tensor<4x8xf32>
  %b = heddle.read @b : tensor<8xf32>
  %rows = heddle.sum rows %w : tensor<4x8xf32> -> tensor<8xf32>
  %all = arith.addf %rows, %b : tensor<8xf32>
  %loss = heddle.sum columns %all : tensor<8xf32> -> tensor<1xf32>
  %rate = heddle.minimize %loss {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32, clip_norm = 0.0 : f32,
                                 weight_decay = 0.25 : f32, scale_interval = 5 : i64} rate {
  ^bb0(%number: tensor<1xf32>):
    %rate_peak = heddle.fill 1.0e-3 : f32 : tensor<1xf32>
    heddle.yield %rate_peak : tensor<1xf32>
  }
  return %rate : tensor<1xf32>
}
