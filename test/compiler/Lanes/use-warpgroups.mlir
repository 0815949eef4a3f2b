// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-use-warpgroups))' --split-input-file | FileCheck %s
// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-use-warpgroups{warpgroup=0}))' --split-input-file | FileCheck %s --check-prefix=NONE
// NONE-NOT: warpgroup_

#shared = #gpu.address_space<workgroup>

// The gradient of attention's keys: both matmuls of scores start at once, and the kernel waits for each where its
// result is used. The gradient of values needs only the probabilities, so it starts before the gradient of scores is
// computed. The accumulator of the second matmul is set before the first matmul starts.
// CHECK-LABEL: tile.func @gradient(
// CHECK-DAG: %[[K:.*]] = tile.shared : memref<64x64xbf16, #tile.swizzled<panel_rows = 64>
// CHECK-DAG: %[[Q:.*]] = tile.shared : memref<64x64xbf16, #tile.swizzled<panel_rows = 64>
// CHECK-DAG: %[[G:.*]] = tile.shared : memref<64x64xbf16, #tile.swizzled<panel_rows = 64>
// CHECK-DAG: %[[W:.*]] = tile.shared : memref<64x64xbf16, #tile.swizzled<panel_rows = 64>
// CHECK: scf.for
// CHECK: tile.wait 0
// CHECK-NOT: workgroup
// CHECK: %[[FIRST:.*]] = arith.mulf
// CHECK: %[[SET:.*]] = tile.warpgroup_fence %[[FIRST]] : tensor<64x64xf32>
// CHECK: %[[S:.*]] = tile.warpgroup_dot %{{.*}}, %[[K]][%{{.*}}], %[[Q]][%{{.*}}] depth 64 {transpose_rhs}
// CHECK-NEXT: %[[P:.*]] = tile.warpgroup_dot %[[SET]], %[[W]][%{{.*}}], %[[G]][%{{.*}}] depth 64 {transpose_rhs}
// CHECK: %[[SCORES:.*]] = tile.warpgroup_wait 1, %[[S]]
// CHECK: math.exp2 %[[SCORES]]
// CHECK: %[[V:.*]] = tile.warpgroup_dot %{{.*}}, %{{.*}}, %[[G]][%{{.*}}] depth 64 : tensor<64x64xbf16>
// CHECK: %[[OTHERS:.*]] = tile.warpgroup_wait 1, %[[P]]
// CHECK: arith.mulf %{{.*}}, %[[OTHERS]]
// CHECK: %[[L:.*]] = tile.warpgroup_dot %{{.*}}, %{{.*}}, %[[Q]][%{{.*}}] depth 64 : tensor<64x64xbf16>
// CHECK: %[[VALUES:.*]] = tile.warpgroup_wait 1, %[[V]]
// CHECK: %[[KEYS:.*]] = tile.warpgroup_wait 0, %[[L]]
// CHECK: scf.yield %[[KEYS]], %[[VALUES]]
tile.func @gradient(%deltas: memref<64x64xf32>, %c: memref<64x64xf32>)
    attributes {workgroup = 128 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %k = tile.shared : memref<64x64xbf16, #tile.swizzled, #shared>
  %q = tile.shared : memref<64x64xbf16, #tile.swizzled, #shared>
  %g = tile.shared : memref<64x64xbf16, #tile.swizzled, #shared>
  %w = tile.shared : memref<64x64xbf16, #tile.swizzled, #shared>
  %sums:2 = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %zero, %b = %zero) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
    tile.wait 0
    %keys = tile.load %k[%c0, %c0] : memref<64x64xbf16, #tile.swizzled, #shared> -> tensor<64x64xbf16>
    %queries = tile.load %q[%c0, %c0] : memref<64x64xbf16, #tile.swizzled, #shared> -> tensor<64x64xbf16>
    %s = tile.dot %keys, %queries, %zero {transpose_rhs} : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    %p = math.exp2 %s : tensor<64x64xf32>
    %delta = tile.load %deltas[%c0, %c0] : memref<64x64xf32> -> tensor<64x64xf32>
    %first = arith.mulf %delta, %delta : tensor<64x64xf32>
    %gradient = tile.load %g[%c0, %c0] : memref<64x64xbf16, #tile.swizzled, #shared> -> tensor<64x64xbf16>
    %v = tile.load %w[%c0, %c0] : memref<64x64xbf16, #tile.swizzled, #shared> -> tensor<64x64xbf16>
    %d = tile.dot %v, %gradient, %first {transpose_rhs} : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    %ds = arith.mulf %p, %d : tensor<64x64xf32>
    %narrow = arith.truncf %ds : tensor<64x64xf32> to tensor<64x64xbf16>
    %turned = tile.load %q[%c0, %c0] {transposed} : memref<64x64xbf16, #tile.swizzled, #shared> -> tensor<64x64xbf16>
    %x = tile.dot %narrow, %turned, %a {transpose_rhs} : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    %weights = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xbf16>
    %gradients = tile.load %g[%c0, %c0] {transposed} : memref<64x64xbf16, #tile.swizzled, #shared> -> tensor<64x64xbf16>
    %y = tile.dot %weights, %gradients, %b {transpose_rhs} : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    scf.yield %x, %y : tensor<64x64xf32>, tensor<64x64xf32>
  }
  tile.store %sums#0, %c[%c0, %c0] : tensor<64x64xf32>, memref<64x64xf32>
  tile.store %sums#1, %c[%c0, %c0] : tensor<64x64xf32>, memref<64x64xf32>
  tile.return
}

// -----

#shared = #gpu.address_space<workgroup>

// 32 columns are no panel, and 32 rows are too few for a warpgroup: nothing changes.
// CHECK-LABEL: tile.func @narrow(
// CHECK-NOT: warpgroup
// CHECK-LABEL: tile.func @few(
// CHECK-NOT: warpgroup
tile.func @narrow(%c: memref<64x64xf32>) attributes {workgroup = 128 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %k = tile.shared : memref<64x32xbf16, #tile.swizzled, #shared>
  %x = tile.load %k[%c0, %c0] : memref<64x32xbf16, #tile.swizzled, #shared> -> tensor<64x32xbf16>
  %s = tile.dot %x, %x, %zero {transpose_rhs} : tensor<64x32xbf16>, tensor<64x32xbf16> -> tensor<64x64xf32>
  tile.store %s, %c[%c0, %c0] : tensor<64x64xf32>, memref<64x64xf32>
  tile.return
}

tile.func @few(%c: memref<32x64xf32>) attributes {workgroup = 128 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<32x64xf32>
  %k = tile.shared : memref<64x64xbf16, #tile.swizzled, #shared>
  %x = tile.load %k[%c0, %c0] : memref<64x64xbf16, #tile.swizzled, #shared> -> tensor<32x64xbf16>
  %y = tile.load %k[%c0, %c0] : memref<64x64xbf16, #tile.swizzled, #shared> -> tensor<64x64xbf16>
  %s = tile.dot %x, %y, %zero {transpose_rhs} : tensor<32x64xbf16>, tensor<64x64xbf16> -> tensor<32x64xf32>
  tile.store %s, %c[%c0, %c0] : tensor<32x64xf32>, memref<32x64xf32>
  tile.return
}

// -----

#shared = #gpu.address_space<workgroup>

// Both operands are the same tile.
// CHECK-LABEL: tile.func @square(
// CHECK: %[[K:.*]] = tile.shared : memref<64x64xbf16, #tile.swizzled<panel_rows = 64>
// CHECK-NOT: tile.load
// CHECK: tile.warpgroup_dot %{{.*}}, %[[K]][%{{.*}}], %[[K]][%{{.*}}] depth 64 {transpose_rhs}
tile.func @square(%c: memref<64x64xf32>) attributes {workgroup = 128 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %k = tile.shared : memref<64x64xbf16, #tile.swizzled, #shared>
  %x = tile.load %k[%c0, %c0] : memref<64x64xbf16, #tile.swizzled, #shared> -> tensor<64x64xbf16>
  %s = tile.dot %x, %x, %zero {transpose_rhs} : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
  tile.store %s, %c[%c0, %c0] : tensor<64x64xf32>, memref<64x64xf32>
  tile.return
}

// -----

#shared = #gpu.address_space<workgroup>

// A left operand in registers that a loop keeps.
// CHECK-LABEL: tile.func @kept(
// CHECK-NOT: warpgroup
// CHECK: tile.dot
tile.func @kept(%queries: memref<64x64xbf16>, %c: memref<64x64xf32>) attributes {workgroup = 128 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %k = tile.shared : memref<64x64xbf16, #tile.swizzled, #shared>
  %q = tile.load %queries[%c0, %c0] : memref<64x64xbf16> -> tensor<64x64xbf16>
  %sum = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %zero) -> (tensor<64x64xf32>) {
    %keys = tile.load %k[%c0, %c0] : memref<64x64xbf16, #tile.swizzled, #shared> -> tensor<64x64xbf16>
    %s = tile.dot %q, %keys, %a {transpose_rhs} : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    scf.yield %s : tensor<64x64xf32>
  }
  tile.store %sum, %c[%c0, %c0] : tensor<64x64xf32>, memref<64x64xf32>
  tile.return
}
