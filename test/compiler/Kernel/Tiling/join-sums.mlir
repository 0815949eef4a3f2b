// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-count-costs,heddle-join-sums{target=cuda:sm_90a},heddle-split-kernels{target=cuda:sm_90a})' | FileCheck %s
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-join-sums{target=vulkan:software})' | FileCheck %s --check-prefix=SOFTWARE
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-join-sums{target=cuda:sm_90a},heddle-tile{target=cuda:sm_90a})' | FileCheck %s --check-prefix=TILE
// RUN: not heddle-opt %s --pass-pipeline='builtin.module(heddle-join-sums{target=cuda:sm_08})' 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: there is no target 'cuda:sm_08'; did you mean 'cuda:sm_80'?

// On software Vulkan no subgroup holds a whole row in its registers.
// SOFTWARE-NOT: partial_sums

#tokens = #heddle.dims<"tokens">
!x = tensor<?x512xf32, #tokens>
!half = tensor<?x512xbf16, #tokens>
!column = tensor<?xf32, #tokens>
!row = tensor<512xf32>
!wide = tensor<?x2048xf32, #tokens>
!few = tensor<?x512xf32, #heddle.dims<"few">>
heddle.size @tokens max 16384
heddle.size @few max 8

// The gradients of gain and bias, and the sum of the values that the epilogue rounds, which is a kernel of its own
// otherwise.
// CHECK-LABEL: func.func @norm(
// CHECK: %[[N:.*]]:5 = heddle.kernel "layer_norm_grad_truncf_sums"(%arg0, %arg1, %arg2, %arg3, %arg4 :
// CHECK-SAME: -> tensor<?x512xf32, {{.*}}>, tensor<?x512xbf16, {{.*}}>, tensor<256x512xf32>, tensor<256x512xf32>, tensor<256x512xf32>
// CHECK: ^bb0(%[[G:[^:]*]]:
// CHECK: heddle.layer_norm_grad
// CHECK: %[[HALF:.*]] = arith.truncf
// CHECK: %[[SCALED:.*]] = arith.mulf %[[G]]
// CHECK: %[[GAIN:.*]] = heddle.partial_sums %[[SCALED]]
// CHECK: %[[BIAS:.*]] = heddle.partial_sums %[[G]]
// CHECK: %[[AGAIN:.*]] = arith.extf %[[HALF]]
// CHECK: %[[BEFORE:.*]] = heddle.partial_sums %[[AGAIN]]
// CHECK: heddle.yield %{{.*}}, %[[HALF]], %[[GAIN]], %[[BIAS]], %[[BEFORE]]
// CHECK: bytes[
// CHECK: %[[S:.*]]:2 = heddle.kernel "sum"(%[[N]]#2, %[[N]]#3 :
// CHECK: heddle.sum rows %{{.*}} : tensor<256x512xf32>
// CHECK: %[[T:.*]] = heddle.kernel "sum"(%[[N]]#4 :
// CHECK: return %[[N]]#0, %[[S]]#0, %[[S]]#1, %[[T]],
func.func @norm(%g: !x, %x: !x, %gamma: !row, %mean: !column, %rstd: !column, %w: tensor<512x512xbf16>)
    -> (!x, !row, !row, !row, !x) {
  %dx = heddle.layer_norm_grad %g, %x, %gamma, %mean, %rstd : !x, !row, !column
  %means = heddle.broadcast %mean : !column to !x
  %rstds = heddle.broadcast %rstd : !column to !x
  %centred = arith.subf %x, %means : !x
  %normal = arith.mulf %centred, %rstds : !x
  %scaled = arith.mulf %g, %normal : !x
  %dgamma = heddle.sum rows %scaled : !x -> !row
  %dbeta = heddle.sum rows %g : !x -> !row
  %half = arith.truncf %dx : !x to !half
  %before = heddle.matmul %half, %w {transpose_rhs} : !half, tensor<512x512xbf16> -> !x
  %again = arith.extf %half : !half to !x
  %dbias = heddle.sum rows %again : !x -> !row
  return %dx, %dgamma, %dbeta, %dbias, %before : !x, !row, !row, !row, !x
}

// A workgroup takes every 256th block of four rows, with one row for each subgroup. The subgroups add their sums.
// TILE: tile.launch @layer_norm_grad_truncf_sums_Tx512({{.*}}) grid [#tile.grid<"", 1, 256>,
// TILE-LABEL: tile.func @layer_norm_grad_truncf_sums_Tx512(
// TILE: %[[GROUP:.*]] = gpu.block_id  x
// TILE: %[[FIRST:.*]] = arith.muli %[[GROUP]], %c4
// TILE: %[[SUMS:.*]]:3 = scf.for %[[ROW:.*]] = %[[FIRST]] to %{{.*}} step %c1024
// TILE: tile.store %{{.*}}[%[[ROW]],
// TILE: scf.yield
// TILE: tile.store %[[SUMS]]#0, %[[SHARED:[0-9a-z_]+]][
// TILE: tile.wait
// TILE: tile.load %[[SHARED]][%c3
// TILE: tile.store %{{.*}}[%[[GROUP]],

// Not joined: rows too wide for a subgroup's registers, and batches too small to be worth it.
// CHECK-LABEL: func.func @left_alone(
// CHECK: heddle.kernel "layer_norm_grad"
// CHECK: heddle.kernel "partial_sum"
// CHECK: heddle.kernel "layer_norm_grad"
// CHECK: heddle.kernel "sum"
func.func @left_alone(%g: !wide, %x: !wide, %gamma: tensor<2048xf32>, %mean: !column, %rstd: !column,
                      %f: !few, %row: !row, %m: tensor<?xf32, #heddle.dims<"few">>)
    -> (!wide, tensor<2048xf32>, !few, !row) {
  %dx = heddle.layer_norm_grad %g, %x, %gamma, %mean, %rstd : !wide, tensor<2048xf32>, !column
  %dbeta = heddle.sum rows %g : !wide -> tensor<2048xf32>
  %dy = heddle.layer_norm_grad %f, %f, %row, %m, %m : !few, !row, tensor<?xf32, #heddle.dims<"few">>
  %dz = heddle.sum rows %f : !few -> !row
  return %dx, %dbeta, %dy, %dz : !wide, tensor<2048xf32>, !few, !row
}

// Not joined: a sum of a value computed after the norm's kernel, and a sum that the norm's kernel needs.
// CHECK-LABEL: func.func @later(
// CHECK: heddle.kernel "partial_sum
// CHECK: heddle.kernel "layer_norm_grad"
// CHECK: heddle.kernel "partial_sum
func.func @later(%g: !x, %x: !x, %mean: !column, %rstd: !column, %w: tensor<512x512xbf16>, %h: !half) -> (!x, !row) {
  %gamma = heddle.sum rows %g : !x -> !row
  %dx = heddle.layer_norm_grad %g, %x, %gamma, %mean, %rstd : !x, !row, !column
  %y = heddle.matmul %h, %w : !half, tensor<512x512xbf16> -> !x
  %p = arith.mulf %y, %dx : !x
  %e = math.exp %y : !x
  %q = arith.mulf %e, %g : !x
  %s = heddle.sum rows %q : !x -> !row
  return %p, %s : !x, !row
}
