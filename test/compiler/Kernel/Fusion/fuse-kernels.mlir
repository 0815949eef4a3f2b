// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels))' | FileCheck %s
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels))' --remarks-filter=fuse-kernels \
// RUN:   -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK-DAG: [Passed] fused | Category:fuse-kernels | Function=matmul_bias_relu | Into="kernel matmul_addf_maximumf", What="matmul, addf, maximumf"
// REMARK-DAG: [Missed] not fused | Category:fuse-kernels | Function=no_prologue_used_twice | Reason="its result has other uses", What="exp as prologue of kernel sum"
// REMARK-DAG: Function=copied | Reason="its result has other uses", What="addf as prologue of kernel sum_select"
// REMARK-DAG: Function=operand_after_anchor | Reason="its kernel makes it for others too", What="matmul as addend of kernel matmul_addf"
// REMARK-DAG: Function=read_after_write | Reason="an operand of it is made after the kernel", What="addf as epilogue of kernel matmul"
// REMARK-DAG: Function=needed_before | Reason="its result is needed before the anchor", What="sum as companion of kernel matmul"
// REMARK-DAG: Function=needed_before | Reason="the anchor takes none: it reads elements of its operands more than once", What="addf as prologue of kernel matmul_addf"
// REMARK-DAG: Function=other_matrix | Reason="it computes on another matrix than the kernel", What="negf as epilogue of kernel layer_norm_exp"
// REMARK-DAG: Function=other_matrix | Reason="a workgroup of the kernel makes another part of what it reads", What="addf as epilogue of kernel layer_norm_exp"

!heads = tensor<?x2x4xf32, #heddle.dims<"tokens">>
!numbers = tensor<?x2xf32, #heddle.dims<"tokens">>
!x = tensor<?x8xf32, #heddle.dims<"tokens">>
!h = tensor<?x16xf32, #heddle.dims<"tokens">>
!column = tensor<?xf32, #heddle.dims<"tokens">>
!indices = tensor<?xi32, #heddle.dims<"tokens">>
!truth = tensor<?x8xi1, #heddle.dims<"tokens">>

heddle.variable @w weight : tensor<8x16xf32>
heddle.variable @gradient gradient : tensor<8x16xf32>
heddle.variable @m optimizer_state : tensor<8x16xf32>
heddle.variable @v optimizer_state : tensor<8x16xf32>

// A feed-forward layer: bias and ReLU are the matmul's epilogue. The bias and the zeros are never matrices in memory.
// CHECK-LABEL: func.func @matmul_bias_relu
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32, {{.*}}>, %[[W:.*]]: tensor<8x16xf32>, %[[BIAS:.*]]: tensor<16xf32>
func.func @matmul_bias_relu(%x: !x, %w: tensor<8x16xf32>, %bias: tensor<16xf32>) -> !h {
  // CHECK-NEXT: %[[K:.*]] = heddle.kernel "matmul_addf_maximumf"(%[[X]], %[[W]], %[[BIAS]] : {{.*}}) -> tensor<?x16xf32, #heddle.dims<"tokens">> {
  // CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<?x8xf32, #heddle.dims<"tokens">>, %[[B:.*]]: tensor<8x16xf32>, %[[C:.*]]: tensor<16xf32>):
  // CHECK-NEXT:   %[[P:.*]] = heddle.matmul %[[A]], %[[B]]
  // CHECK-NEXT:   %[[WIDE:.*]] = heddle.broadcast %[[C]]
  // CHECK-NEXT:   %[[S:.*]] = arith.addf %[[P]], %[[WIDE]]
  // CHECK-NEXT:   %[[ZERO:.*]] = heddle.fill 0.0
  // CHECK-NEXT:   %[[R:.*]] = arith.maximumf %[[S]], %[[ZERO]]
  // CHECK-NEXT:   heddle.yield %[[R]]
  // CHECK-NEXT: }
  // CHECK-NEXT: return %[[K]]
  %p = heddle.matmul %x, %w : !x, tensor<8x16xf32> -> !h
  %wide = heddle.broadcast %bias : tensor<16xf32> to !h
  %s = arith.addf %p, %wide : !h
  %zero = heddle.fill 0.0 : f32 : !h
  %r = arith.maximumf %s, %zero : !h
  return %r : !h
}

// Elementwise ops on one matrix. Values that no other kernel needs stay inside the kernel.
// CHECK-LABEL: func.func @elementwise
func.func @elementwise(%x: !x, %y: !x) -> !x {
  // CHECK-NEXT: %[[K:.*]] = heddle.kernel "addf_tanh_mulf"(%arg0, %arg1 : {{.*}}) -> tensor<?x8xf32, #heddle.dims<"tokens">> {
  // CHECK:   arith.addf
  // CHECK-NEXT:   math.tanh
  // CHECK-NEXT:   arith.mulf
  // CHECK-NEXT:   heddle.yield
  // CHECK: return %[[K]]
  %a = arith.addf %x, %y : !x
  %b = math.tanh %a : !x
  %c = arith.mulf %b, %y : !x
  return %c : !x
}

// A value that is also needed outside becomes one more result of the kernel.
// CHECK-LABEL: func.func @two_results
func.func @two_results(%x: !x, %w: tensor<8x16xf32>) -> (!h, !h) {
  // CHECK-NEXT: %[[K:.*]]:2 = heddle.kernel "matmul_exp"
  // CHECK:   %[[P:.*]] = heddle.matmul
  // CHECK-NEXT:   %[[E:.*]] = math.exp %[[P]]
  // CHECK-NEXT:   heddle.yield %[[P]], %[[E]]
  // CHECK: return %[[K]]#0, %[[K]]#1
  %p = heddle.matmul %x, %w : !x, tensor<8x16xf32> -> !h
  %e = math.exp %p : !h
  return %p, %e : !h, !h
}

// One op with three results, each written to a variable: one kernel.
// CHECK-LABEL: func.func @adam
func.func @adam(%rate: tensor<1xf32>) {
  // CHECK: %[[K:.*]]:3 = heddle.kernel "adam"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %arg0 : {{.*}}) -> tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32> {
  // CHECK: heddle.fill 1.0{{.*}} : f32 : tensor<1xf32>
  // CHECK: heddle.adam
  // CHECK: heddle.write @w, %[[K]]#0
  // CHECK-NEXT: heddle.write @m, %[[K]]#1
  // CHECK-NEXT: heddle.write @v, %[[K]]#2
  %w = heddle.read @w : tensor<8x16xf32>
  %g = heddle.read @gradient : tensor<8x16xf32>
  %m = heddle.read @m : tensor<8x16xf32>
  %v = heddle.read @v : tensor<8x16xf32>
  %one = heddle.fill 1.0 : f32 : tensor<1xf32>
  %w2, %m2, %v2 = heddle.adam %w, %g, %m, %v rate %rate corrections %one, %one scale %one
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32} : tensor<8x16xf32>
  heddle.write @w, %w2 : tensor<8x16xf32>
  heddle.write @m, %m2 : tensor<8x16xf32>
  heddle.write @v, %v2 : tensor<8x16xf32>
  return
}

// A sum reads each element once, so its operand need not be in memory.
// CHECK-LABEL: func.func @prologue
func.func @prologue(%x: !x, %y: !x) -> tensor<8xf32> {
  // CHECK-NEXT: %[[K:.*]] = heddle.kernel "sum_mulf_exp"(%arg0, %arg1 : {{.*}}) -> tensor<8xf32> {
  // CHECK:   %[[P:.*]] = arith.mulf
  // CHECK-NEXT:   %[[E:.*]] = math.exp %[[P]]
  // CHECK-NEXT:   %[[S:.*]] = heddle.sum rows %[[E]]
  // CHECK-NEXT:   heddle.yield %[[S]]
  // CHECK: return %[[K]]
  %p = arith.mulf %x, %y : !x
  %e = math.exp %p : !x
  %s = heddle.sum rows %e : !x -> tensor<8xf32>
  return %s : tensor<8xf32>
}

// A kernel with a prologue runs at its anchor's place, where the second factor is already computed.
// CHECK-LABEL: func.func @prologue_of_two_kernels
func.func @prologue_of_two_kernels(%x: !x, %w: tensor<8x8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: %[[P:.*]] = heddle.kernel "matmul"(%arg0, %arg1
  // CHECK: %[[K:.*]] = heddle.kernel "sum_negf_addf"(%arg0, %[[P]] :
  // CHECK: return %[[K]]
  %n = arith.negf %x : !x
  %p = heddle.matmul %x, %w : !x, tensor<8x8xf32> -> !x
  %a = arith.addf %n, %p : !x
  %s = heddle.sum rows %a : !x -> tensor<8xf32>
  return %s : tensor<8xf32>
}

// A value that is used twice is computed once and read twice.
// CHECK-LABEL: func.func @no_prologue_used_twice
func.func @no_prologue_used_twice(%x: !x) -> (tensor<8xf32>, !column) {
  // CHECK-NEXT: %[[E:.*]] = heddle.kernel "exp"(%arg0
  // CHECK: heddle.kernel "sum"(%[[E]] :
  // CHECK: heddle.sum rows
  // CHECK: heddle.kernel "sum"(%[[E]] :
  // CHECK: heddle.sum columns
  %e = math.exp %x : !x
  %s = heddle.sum rows %e : !x -> tensor<8xf32>
  %c = heddle.sum columns %e : !x -> !column
  return %s, %c : tensor<8xf32>, !column
}

// Fills, repeated rows, index columns and comparisons are copied into each kernel that uses them.
// CHECK-LABEL: func.func @copied
func.func @copied(%x: !x, %row: tensor<8xf32>, %limit: !indices) -> (!x, tensor<8xf32>) {
  // CHECK-NEXT: %[[K:.*]]:2 = heddle.kernel "addf_select"(%arg0, %arg1, %arg2 : {{.*}}) -> tensor<?x8xf32, #heddle.dims<"tokens">>, tensor<?x8xf32, #heddle.dims<"tokens">> {
  // CHECK:   heddle.broadcast
  // CHECK-NEXT:   arith.addf
  // CHECK-NEXT:   heddle.iota
  // CHECK-NEXT:   arith.cmpi slt
  // CHECK-NEXT:   heddle.broadcast {{.*}}xi1
  // CHECK-NEXT:   heddle.fill 0.0
  // CHECK-NEXT:   arith.select
  // CHECK-NEXT:   heddle.yield
  // CHECK: %[[S:.*]] = heddle.kernel "sum_select"(%arg2, %[[K]]#0 : {{.*}}) -> tensor<8xf32> {
  // CHECK:   heddle.iota
  // CHECK-NEXT:   arith.cmpi slt
  // CHECK-NEXT:   heddle.broadcast {{.*}}xi1
  // CHECK-NEXT:   heddle.fill 1.0
  // CHECK-NEXT:   arith.select
  // CHECK-NEXT:   heddle.sum rows
  // CHECK-NEXT:   heddle.yield
  // CHECK-NEXT: }
  // CHECK-NEXT: return %[[K]]#1, %[[S]]
  %iota = heddle.iota : !indices
  %inside = arith.cmpi slt, %iota, %limit : !indices
  %mask = heddle.broadcast %inside : tensor<?xi1, #heddle.dims<"tokens">> to !truth
  %wide = heddle.broadcast %row : tensor<8xf32> to !x
  %a = arith.addf %x, %wide : !x
  %zero = heddle.fill 0.0 : f32 : !x
  %masked = arith.select %mask, %a, %zero : !truth, !x
  %one = heddle.fill 1.0 : f32 : !x
  %other = arith.select %mask, %a, %one : !truth, !x
  %s = heddle.sum rows %other : !x -> tensor<8xf32>
  return %masked, %s : !x, tensor<8xf32>
}

// If a fill's value is needed in memory, a kernel writes it once for each use, so that both uses can overwrite it.
// CHECK-LABEL: func.func @written_fill
func.func @written_fill(%x: !x) -> (!x, tensor<8x16xf32>) {
  // CHECK: %[[A:.*]] = heddle.kernel "fill"() -> tensor<8x16xf32> {
  // CHECK-NEXT:   heddle.fill 0.0
  // CHECK-NEXT:   heddle.yield
  // CHECK: heddle.write @gradient, %[[A]]
  // CHECK: %[[B:.*]] = heddle.kernel "fill"() -> tensor<8x16xf32> {
  // CHECK: return %{{.*}}, %[[B]]
  %zero = heddle.fill 0.0 : f32 : tensor<8x16xf32>
  heddle.write @gradient, %zero : tensor<8x16xf32>
  %e = math.exp %x : !x
  return %e, %zero : !x, tensor<8x16xf32>
}

// A matmul reads its operands from memory, even repeated rows.
// CHECK-LABEL: func.func @copied_into_memory
func.func @copied_into_memory(%row: tensor<8xf32>, %w: tensor<8x16xf32>) -> !h {
  // CHECK-NEXT: %[[B:.*]] = heddle.kernel "broadcast"(%arg0
  // CHECK: heddle.kernel "matmul"(%[[B]], %arg1
  %b = heddle.broadcast %row : tensor<8xf32> to !x
  %p = heddle.matmul %b, %w : !x, tensor<8x16xf32> -> !h
  return %p : !h
}

// The kernel runs at its anchor's place, but a later kernel computes the residual. So there is no epilogue.
// CHECK-LABEL: func.func @operand_after_anchor
func.func @operand_after_anchor(%x: !x, %w: tensor<8x8xf32>) -> !x {
  // CHECK-NEXT: %[[P:.*]] = heddle.kernel "matmul"(%arg0, %arg1
  // CHECK: %[[Q:.*]] = heddle.kernel "matmul_addf"(%[[P]], %arg1
  // CHECK-NOT: heddle.kernel
  // CHECK: return %[[Q]]
  %p = heddle.matmul %x, %w : !x, tensor<8x8xf32> -> !x
  %q = heddle.matmul %p, %w : !x, tensor<8x8xf32> -> !x
  %a = arith.addf %p, %q : !x
  return %a : !x
}

// A variable's old value exists from the start, wherever it is read.
// CHECK-LABEL: func.func @read_after_anchor
func.func @read_after_anchor(%x: !x, %w: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // CHECK-NEXT: %[[G:.*]] = heddle.read @gradient
  // CHECK-NEXT: %[[Y:.*]] = heddle.kernel "matmul"(
  // CHECK: heddle.kernel "matmul_addf"(%{{.*}}, %[[Y]], %[[G]]
  %y = heddle.matmul %x, %w : !x, tensor<8x16xf32> -> !h
  %p = heddle.matmul %x, %y {transpose_lhs} : !x, !h -> tensor<8x16xf32>
  %g = heddle.read @gradient : tensor<8x16xf32>
  %a = arith.addf %p, %g : tensor<8x16xf32>
  return %a : tensor<8x16xf32>
}

// A read after a write returns the new value, and stays after it.
// CHECK-LABEL: func.func @read_after_write
func.func @read_after_write(%x: !x, %y: !h, %w: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // CHECK: heddle.kernel "matmul"(
  // CHECK: heddle.write @gradient
  // CHECK-NEXT: %[[G:.*]] = heddle.read @gradient
  // CHECK-NEXT: heddle.kernel "addf"(%{{.*}}, %[[G]]
  %p = heddle.matmul %x, %y {transpose_lhs} : !x, !h -> tensor<8x16xf32>
  heddle.write @gradient, %w : tensor<8x16xf32>
  %g = heddle.read @gradient : tensor<8x16xf32>
  %a = arith.addf %p, %g : tensor<8x16xf32>
  return %a : tensor<8x16xf32>
}

// The kernel that computes a weight's gradient also updates the weight, so the gradient is never in memory. The kernel
// computes the bias's gradient too. Arithmetic on the step's number comes first.
// CHECK-LABEL: func.func @update
func.func @update(%x: !x, %y: !h, %step: tensor<1xf32>) -> tensor<16xf32> {
  // CHECK-NEXT: %[[RATE:.*]] = heddle.kernel "sqrt"(%arg2
  // CHECK: heddle.read @w
  // CHECK-NEXT: heddle.read @m
  // CHECK-NEXT: heddle.read @v
  // CHECK-NEXT: heddle.kernel
  // CHECK-SAME: "matmul_sum_adam"(%arg1, %arg0, %{{.*}}, %{{.*}}, %{{.*}}, %[[RATE]]
  // CHECK: %[[B:.*]] = heddle.sum rows %[[Y:.*]] :
  // CHECK-NEXT: %[[G:.*]] = heddle.matmul %{{.*}}, %[[Y]] {transpose_lhs}
  // CHECK: heddle.adam %{{.*}}, %[[G]], %{{.*}}, %{{.*}} rate
  // CHECK-NEXT: heddle.yield %[[B]], %{{.*}}, %{{.*}}, %{{.*}} :
  // CHECK-NOT: heddle.kernel
  %b = heddle.sum rows %y : !h -> tensor<16xf32>
  %g = heddle.matmul %x, %y {transpose_lhs} : !x, !h -> tensor<8x16xf32>
  %rate = math.sqrt %step : tensor<1xf32>
  %w = heddle.read @w : tensor<8x16xf32>
  %m = heddle.read @m : tensor<8x16xf32>
  %v = heddle.read @v : tensor<8x16xf32>
  %w2, %m2, %v2 = heddle.adam %w, %g, %m, %v rate %rate corrections %rate, %rate scale %rate
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32} : tensor<8x16xf32>
  heddle.write @w, %w2 : tensor<8x16xf32>
  heddle.write @m, %m2 : tensor<8x16xf32>
  heddle.write @v, %v2 : tensor<8x16xf32>
  return %b : tensor<16xf32>
}

// Sums that are no companions: they reduce another matrix than the right side, come after the matmul, are needed before
// it, reduce columns, or the matmul's left side is not transposed.
// CHECK-LABEL: func.func @no_companion
func.func @no_companion(%x: !x, %y: !h, %w: tensor<16x16xf32>) -> (tensor<8x16xf32>, tensor<8xf32>, tensor<16xf32>, !x) {
  // CHECK: heddle.kernel "sum"(%arg0
  // CHECK: heddle.kernel "matmul"(%arg0, %arg1
  // CHECK: heddle.kernel "sum"(%arg1
  // CHECK: heddle.kernel "sum_exp"(%arg1
  // CHECK: heddle.kernel "matmul"(
  // CHECK: heddle.kernel "matmul"(%arg0
  %a = heddle.sum rows %x : !x -> tensor<8xf32>
  %g = heddle.matmul %x, %y {transpose_lhs} : !x, !h -> tensor<8x16xf32>
  %b = heddle.sum rows %y : !h -> tensor<16xf32>
  %e = math.exp %y : !h
  %c = heddle.sum columns %e : !h -> !column
  %wide = heddle.broadcast %c : !column to !x
  %z = heddle.matmul %wide, %wide {transpose_lhs} : !x, !x -> tensor<8x8xf32>
  %q = heddle.matmul %x, %z : !x, tensor<8x8xf32> -> !x
  return %g, %a, %b, %q : tensor<8x16xf32>, tensor<8xf32>, tensor<16xf32>, !x
}

// CHECK-LABEL: func.func @needed_before
func.func @needed_before(%x: !x, %y: !h) -> tensor<8x16xf32> {
  // CHECK: heddle.kernel "sum"(
  // CHECK: heddle.kernel "addf"(
  // CHECK: heddle.kernel "matmul"(
  // CHECK: heddle.kernel "matmul_addf"(
  %b = heddle.sum rows %y : !h -> tensor<16xf32>
  %wide = heddle.broadcast %b : tensor<16xf32> to !h
  %z = arith.addf %y, %wide : !h
  %g = heddle.matmul %x, %y {transpose_lhs} : !x, !h -> tensor<8x16xf32>
  %g2 = heddle.matmul %x, %z {transpose_lhs} : !x, !h -> tensor<8x16xf32>
  %s = arith.addf %g, %g2 : tensor<8x16xf32>
  return %s : tensor<8x16xf32>
}

// The gradients of a layer norm's two parameters are computed in one walk over the rows.
// CHECK-LABEL: func.func @two_sums
func.func @two_sums(%x: !x, %g: !x) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK-NEXT: %[[K:.*]]:2 = heddle.kernel "sum_mulf_sum"(%arg0, %arg1
  // CHECK: return %[[K]]#0, %[[K]]#1
  %p = arith.mulf %x, %g : !x
  %gamma = heddle.sum rows %p : !x -> tensor<8xf32>
  %beta = heddle.sum rows %g : !x -> tensor<8xf32>
  return %gamma, %beta : tensor<8xf32>, tensor<8xf32>
}

// The kernel of the cross entropy computes its gradient in a second walk over the rows, and also computes with the
// losses.
// CHECK-LABEL: func.func @cross_entropy
func.func @cross_entropy(%logits: !x, %targets: !indices, %scale: !column) -> (!column, !x) {
  // CHECK-NEXT: %[[CE:.*]]:2 = heddle.kernel "cross_entropy_mulf_cross_entropy_grad"(%arg0, %arg1, %arg2
  // CHECK: %[[LOSS:.*]], %[[LSE:.*]] = heddle.cross_entropy
  // CHECK: %[[SCALED:.*]] = arith.mulf %[[LOSS]]
  // CHECK: %[[D:.*]] = heddle.cross_entropy_grad %{{.*}}, %{{.*}}, %[[LSE]]
  // CHECK: heddle.yield %[[SCALED]], %[[D]]
  // CHECK: return %[[CE]]#0, %[[CE]]#1
  %loss, %lse = heddle.cross_entropy %logits, %targets {smoothing = 0.1 : f32} : !x, !indices -> !column
  %scaled = arith.mulf %loss, %scale : !column
  %g = heddle.cross_entropy_grad %logits, %targets, %lse, %scale {smoothing = 0.1 : f32} : !x, !indices, !column
  return %scaled, %g : !column, !x
}

// The kernel may compute the weight of the gradient from the losses.
// CHECK-LABEL: func.func @cross_entropy_twice
func.func @cross_entropy_twice(%logits: !x, %targets: !indices) -> !x {
  // CHECK: heddle.kernel "cross_entropy_exp_cross_entropy_grad"(
  // CHECK: %[[SCALE:.*]] = math.exp
  // CHECK: heddle.cross_entropy_grad %{{.*}}, %{{.*}}, %{{.*}}, %[[SCALE]]
  %loss, %lse = heddle.cross_entropy %logits, %targets {smoothing = 0.1 : f32} : !x, !indices -> !column
  %scale = math.exp %loss : !column
  %g = heddle.cross_entropy_grad %logits, %targets, %lse, %scale {smoothing = 0.1 : f32} : !x, !indices, !column
  return %g : !x
}

// RMS norms (Zhang, Sennrich 2019): the sum of a row's squares, arithmetic on it, and a second walk over the row. Ops
// on columns, wherever they are, join the kernel that computes the first column.
// CHECK-LABEL: func.func @rms_norm
func.func @rms_norm(%x: !x, %gain: tensor<8xf32>, %g: !x) -> (!x, !x) {
  // CHECK: heddle.kernel "sum_mulf_addf_rsqrt"(%arg0, %arg1 :
  // CHECK: heddle.kernel "sum_mulf_
  // CHECK-NOT: heddle.kernel
  // CHECK: return
  %square = arith.mulf %x, %x : !x
  %sum = heddle.sum columns %square : !x -> !column
  %epsilon = heddle.fill 1.0e-5 : f32 : !column
  %more = arith.addf %sum, %epsilon : !column
  %root = math.rsqrt %more : !column
  %wide = heddle.broadcast %root : !column to !x
  %normal = arith.mulf %x, %wide : !x
  %gains = heddle.broadcast %gain : tensor<8xf32> to !x
  %y = arith.mulf %normal, %gains : !x
  %p = arith.mulf %g, %y : !x
  %dot = heddle.sum columns %p : !x -> !column
  %cube = arith.mulf %root, %root : !column
  %slope = arith.mulf %dot, %cube : !column
  %slopes = heddle.broadcast %slope : !column to !x
  %d = arith.mulf %x, %slopes : !x
  %dx = arith.subf %g, %d : !x
  return %y, %dx : !x, !x
}

// The same for the heads of a row, with a number for each head.
// CHECK-LABEL: func.func @norm_of_heads
func.func @norm_of_heads(%flat: !x, %gain: tensor<4xf32>, %g: !heads) -> (!x, !heads) {
  // CHECK: %[[X:.*]] = heddle.reshape %arg0
  // CHECK: %[[NORM:.*]]:2 = heddle.kernel "sum_mulf_addf_rsqrt"(%[[X]], %arg1 :
  // CHECK: heddle.kernel "sum_mulf_
  // CHECK-NOT: heddle.kernel
  // CHECK: return
  %x = heddle.reshape %flat : !x to !heads
  %square = arith.mulf %x, %x : !heads
  %sum = heddle.sum columns %square : !heads -> !numbers
  %epsilon = heddle.fill 1.0e-5 : f32 : !numbers
  %more = arith.addf %sum, %epsilon : !numbers
  %root = math.rsqrt %more : !numbers
  %wide = heddle.broadcast %root : !numbers to !heads
  %normal = arith.mulf %x, %wide : !heads
  %gains = heddle.broadcast %gain : tensor<4xf32> to !heads
  %y = arith.mulf %normal, %gains : !heads
  %flatY = heddle.reshape %y : !heads to !x
  %p = arith.mulf %g, %x : !heads
  %dot = heddle.sum columns %p : !heads -> !numbers
  %cube = arith.mulf %root, %root : !numbers
  %slope = arith.mulf %dot, %cube : !numbers
  %slopes = heddle.broadcast %slope : !numbers to !heads
  %d = arith.mulf %x, %slopes : !heads
  %dx = arith.subf %g, %d : !heads
  return %flatY, %dx : !x, !heads
}

// Mean and deviation are columns. Neither ops on them nor ops that repeat them are epilogues of the matrix.
// CHECK-LABEL: func.func @other_matrix
func.func @other_matrix(%x: !x, %row: tensor<8xf32>) -> (!column, !x) {
  // CHECK-NEXT: %[[N:.*]]:3 = heddle.kernel "layer_norm_exp"
  // CHECK: heddle.kernel "negf"(%[[N]]#0 :
  // CHECK: heddle.kernel "addf"(%[[N]]#2, %[[N]]#1 :
  %y, %mean, %rstd = heddle.layer_norm %x, %row, %row {epsilon = 1.0e-6 : f32} : !x, tensor<8xf32>, tensor<8xf32> -> !column
  %e = math.exp %y : !x
  %n = arith.negf %mean : !column
  %wide = heddle.broadcast %rstd : !column to !x
  %a = arith.addf %e, %wide : !x
  return %n, %a : !column, !x
}

// A matmul that nothing uses gets no kernel.
// CHECK-LABEL: func.func @unused
func.func @unused(%x: !x, %w: tensor<8x16xf32>) -> !x {
  // CHECK-NOT: heddle.kernel
  // CHECK: return %arg0
  %p = heddle.matmul %x, %w : !x, tensor<8x16xf32> -> !h
  return %x : !x
}

// CHECK: func.func private @declared(
func.func private @declared(!x) -> !x

// A gated feed-forward layer: the second matmul's epilogue reads the result of the first one's kernel.
// CHECK-LABEL: func.func @gate
// CHECK: %[[GATE:.*]] = heddle.kernel "matmul_tanh"
// CHECK: %[[H:.*]] = heddle.kernel "matmul_mulf"(%{{.*}}, %{{.*}}, %[[GATE]] :
// CHECK-NOT: heddle.kernel
// CHECK: return %[[H]]
func.func @gate(%x: !x, %w: tensor<8x16xf32>, %v: tensor<8x16xf32>) -> !h {
  %g = heddle.matmul %x, %w : !x, tensor<8x16xf32> -> !h
  %p = heddle.matmul %x, %v : !x, tensor<8x16xf32> -> !h
  %t = math.tanh %g : !h
  %h = arith.mulf %t, %p : !h
  return %h : !h
}

// Matmuls that are added are one kernel, with the ops after them.
// CHECK-LABEL: func.func @sum_of_products
// CHECK-NEXT: %[[Y:.*]] = heddle.kernel "matmul_matmul_matmul_addf"(
// CHECK: return %[[Y]]
func.func @sum_of_products(%a: !h, %b: !h, %c: !x, %u: tensor<8x16xf32>, %v: tensor<8x8xf32>) -> !x {
  %p = heddle.matmul %a, %u {transpose_rhs} : !h, tensor<8x16xf32> -> !x
  %q = heddle.matmul %b, %u {transpose_rhs} : !h, tensor<8x16xf32> -> !x
  %r = heddle.matmul %c, %v {transpose_rhs} : !x, tensor<8x8xf32> -> !x
  %s = arith.addf %p, %q : !x
  %t = arith.addf %s, %r : !x
  %y = math.tanh %t : !x
  return %y : !x
}

// The same with 16-bit operands.
// CHECK-LABEL: func.func @sum_of_half_products
// CHECK-NEXT: %[[Y:.*]] = heddle.kernel "matmul_matmul_addf"(
// CHECK: return %[[Y]]
func.func @sum_of_half_products(%a: tensor<?x8xbf16, #heddle.dims<"tokens">>, %b: tensor<8x8xbf16>, %c: tensor<8x8xbf16>) -> !x {
  %p = heddle.matmul %a, %b : tensor<?x8xbf16, #heddle.dims<"tokens">>, tensor<8x8xbf16> -> !x
  %q = heddle.matmul %a, %c : tensor<?x8xbf16, #heddle.dims<"tokens">>, tensor<8x8xbf16> -> !x
  %s = arith.addf %p, %q : !x
  return %s : !x
}

// The gradient of an attention's input, where x comes from the residual connection. Matmuls for tensor cores are added
// first.
// CHECK-LABEL: func.func @products_first
// CHECK-NEXT: %[[Y:.*]] = heddle.kernel "matmul_matmul_matmul_addf"(
// CHECK: %[[P:.*]] = heddle.matmul
// CHECK: %[[Q:.*]] = heddle.matmul
// CHECK: %[[S:.*]] = arith.addf %[[P]], %[[Q]]
// CHECK: %[[R:.*]] = heddle.matmul
// CHECK: %[[T:.*]] = arith.addf %[[S]], %[[R]]
// CHECK: %[[SUM:.*]] = arith.addf %{{.*}}, %[[T]]
// CHECK: heddle.yield %[[SUM]]
// CHECK: return %[[Y]]
func.func @products_first(%a: tensor<?x8xbf16, #heddle.dims<"tokens">>, %b: tensor<8x8xbf16>, %x: !x) -> !x {
  %p = heddle.matmul %a, %b {transpose_rhs} : tensor<?x8xbf16, #heddle.dims<"tokens">>, tensor<8x8xbf16> -> !x
  %s = arith.addf %x, %p : !x
  %q = heddle.matmul %a, %b {transpose_rhs} : tensor<?x8xbf16, #heddle.dims<"tokens">>, tensor<8x8xbf16> -> !x
  %t = arith.addf %s, %q : !x
  %r = heddle.matmul %a, %b {transpose_rhs} : tensor<?x8xbf16, #heddle.dims<"tokens">>, tensor<8x8xbf16> -> !x
  %y = arith.addf %r, %t : !x
  return %y : !x
}

// Not if a sum has another use, and not if lanes multiply.
// CHECK-LABEL: func.func @products_not_first
// CHECK: heddle.kernel "matmul_addf"(
// CHECK: heddle.kernel "matmul_addf"(
// CHECK: heddle.kernel "matmul_addf"(
// CHECK: heddle.kernel "matmul_addf"(
func.func @products_not_first(%a: tensor<?x8xbf16, #heddle.dims<"tokens">>, %b: tensor<8x8xbf16>, %x: !x, %w: tensor<8x8xf32>)
    -> (!x, !x, !x) {
  %p = heddle.matmul %a, %b : tensor<?x8xbf16, #heddle.dims<"tokens">>, tensor<8x8xbf16> -> !x
  %s = arith.addf %x, %p : !x
  %q = heddle.matmul %a, %b : tensor<?x8xbf16, #heddle.dims<"tokens">>, tensor<8x8xbf16> -> !x
  %t = arith.addf %s, %q : !x
  %r = heddle.matmul %x, %w : !x, tensor<8x8xf32> -> !x
  %u = arith.addf %x, %r : !x
  %v = heddle.matmul %x, %w : !x, tensor<8x8xf32> -> !x
  %y = arith.addf %u, %v : !x
  return %s, %t, %y : !x, !x, !x
}

// Not if other ops read a matmul, a matmul is transposed differently, tokens are contracted, or tensor cores compute
// one matmul and lanes the other.
// CHECK-LABEL: func.func @no_sum_of_products
// CHECK: heddle.kernel "matmul"(
// CHECK: heddle.kernel "matmul_addf"(
// CHECK: heddle.kernel "matmul"(
// CHECK: heddle.kernel "matmul_addf"(
// CHECK: heddle.kernel "matmul"(
// CHECK: heddle.kernel "matmul_addf"(
func.func @no_sum_of_products(%x: !x, %w: tensor<8x8xf32>, %a: tensor<?x8xbf16, #heddle.dims<"tokens">>, %b: tensor<8x8xbf16>)
    -> (!x, !x, tensor<8x8xf32>, !x) {
  %p = heddle.matmul %x, %w : !x, tensor<8x8xf32> -> !x
  %q = heddle.matmul %x, %w {transpose_rhs} : !x, tensor<8x8xf32> -> !x
  %s = arith.addf %p, %q : !x
  %m = heddle.matmul %s, %x {transpose_lhs} : !x, !x -> tensor<8x8xf32>
  %n = heddle.matmul %x, %s {transpose_lhs} : !x, !x -> tensor<8x8xf32>
  %t = arith.addf %m, %n : tensor<8x8xf32>
  %f = heddle.matmul %a, %b : tensor<?x8xbf16, #heddle.dims<"tokens">>, tensor<8x8xbf16> -> !x
  %g = heddle.matmul %x, %w : !x, tensor<8x8xf32> -> !x
  %e = arith.addf %f, %g : !x
  return %p, %s, %t, %e : !x, !x, tensor<8x8xf32>, !x
}

// A matmul with other readers has a kernel of its own, so the matmuls that are added to it are one kernel each.
// CHECK-LABEL: func.func @sum_with_shared_product
// CHECK: %[[P:.*]] = heddle.kernel "matmul"(
// CHECK: %[[S:.*]] = heddle.kernel "matmul_addf"({{.*}}%[[P]]
// CHECK: %[[Y:.*]] = heddle.kernel "matmul_addf"({{.*}}%[[S]]
// CHECK: return %[[P]], %[[Y]]
func.func @sum_with_shared_product(%x: !x, %u: tensor<8x8xf32>, %v: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> (!x, !x) {
  %p = heddle.matmul %x, %u : !x, tensor<8x8xf32> -> !x
  %q = heddle.matmul %x, %v : !x, tensor<8x8xf32> -> !x
  %s = arith.addf %p, %q : !x
  %r = heddle.matmul %x, %w : !x, tensor<8x8xf32> -> !x
  %y = arith.addf %s, %r : !x
  return %p, %y : !x, !x
}

// A kernel does not read rows that another one of its workgroups replaces.
// CHECK-LABEL: func.func @replaced_rows
// CHECK: heddle.kernel "mulf_scatter_rows"(
// CHECK: heddle.kernel "addf"(
func.func @replaced_rows(%x: !x, %c: !x, %at: tensor<?xi32, #heddle.dims<"tokens">>) -> (!x, !x) {
  %y = arith.mulf %x, %x : !x
  %s = heddle.scatter_rows %c, %at, %y : !x, tensor<?xi32, #heddle.dims<"tokens">>, !x
  %z = arith.addf %c, %y : !x
  return %s, %z : !x, !x
}

// An unused matmul, such as recomputation leaves behind, gets neither a kernel nor a companion.
// CHECK-LABEL: func.func @dead_matmul
// CHECK: heddle.kernel "sum"(
// CHECK-NOT: heddle.matmul
// CHECK: return
func.func @dead_matmul(%x: !x, %y: !x) -> tensor<8xf32> {
  %s = heddle.sum rows %y : !x -> tensor<8xf32>
  %m = heddle.matmul %x, %y {transpose_lhs} : !x, !x -> tensor<8x8xf32>
  return %s : tensor<8xf32>
}
