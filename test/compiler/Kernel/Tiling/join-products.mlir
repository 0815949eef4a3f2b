// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-count-costs,heddle-join-products{target=cuda:sm_90a},heddle-split-kernels{target=cuda:sm_90a})' | FileCheck %s
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-join-products{target=vulkan:software})' | FileCheck %s --check-prefix=SOFTWARE
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-join-products{target=cuda:sm_90a},heddle-tile{target=cuda:sm_90a})' | FileCheck %s --check-prefix=TILE
// RUN: not heddle-opt %s --pass-pipeline='builtin.module(heddle-join-products{target=cuda:sm_08})' 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: there is no target 'cuda:sm_08'; did you mean 'cuda:sm_80'?

// Software Vulkan has no tensor cores.
// SOFTWARE-NOT: "matmuls"

#tokens = #heddle.dims<"tokens">
!x = tensor<?x1024xbf16, #tokens>
!wide = tensor<?x4096xbf16, #tokens>
!other = tensor<?x1024xbf16, #heddle.dims<"other">>
!w = tensor<1024x1024xf32>
!half = tensor<1024x1024xbf16>
!large = tensor<1024x4096xf32>
!rows = tensor<?x1024xf32, #tokens>
!row = tensor<1024xf32>
heddle.variable @cache cache : tensor<4x1024xf32>
heddle.size @tokens max 16384
heddle.size @other max 16384

// Four gradients of 32 tiles each give work to 128 of 132 processors. The first one has no epilogue.
// CHECK-LABEL: func.func @gradients(
// CHECK-NOT: partial_matmul
// CHECK: %[[M:.*]]:4 = heddle.kernel "matmuls"(%arg0, %arg1, %arg2, %arg3, %{{.*}} :
// CHECK: %[[Y:.*]] = heddle.matmul %[[X:.*]], %{{.*}} {transpose_lhs}
// CHECK: heddle.matmul %[[X]], %{{.*}} {transpose_lhs}
// CHECK: heddle.matmul %[[X]], %{{.*}} {transpose_lhs}
// CHECK: heddle.matmul %{{.*}}, %{{.*}} {transpose_lhs}
// CHECK: heddle.yield %[[Y]],
// CHECK: {heddle.cost =
// CHECK: %[[B:.*]] = heddle.kernel "addf"(%arg4, %[[M]]#1 :
// CHECK: {heddle.cost =
// CHECK: %[[C:.*]] = heddle.kernel "addf"(%arg4, %[[M]]#2 :
// CHECK: %[[D:.*]] = heddle.kernel "mulf"(%arg4, %[[M]]#3 :
// CHECK: return %[[M]]#0, %[[B]], %[[C]], %[[D]]

// A workgroup's number determines its matmul, and its tile of that matmul.
// TILE: tile.launch @matmuls_1024x1024({{.*}}) grid [#tile.grid<"", 1, 128>,
// TILE: tile.launch @matmuls_addf_truncf_Tx1024({{.*}}) grid [#tile.grid<"", 1, 132>,
// TILE-LABEL: tile.func @matmuls_1024x1024(
// TILE: %[[NUMBER:.*]] = arith.divui %[[COLUMN:.*]], %c1024
// TILE: %[[OWN:.*]] = arith.remui %[[COLUMN]], %c1024
// TILE: %[[IS_LAST:.*]] = arith.cmpi eq, %[[NUMBER]], %c3
// TILE: %[[LEFT:.*]] = arith.select %[[IS_LAST]], %arg4, %arg0 : memref<?x1024xbf16>
// TILE: %[[RIGHT:.*]] = arith.select %[[IS_LAST]], %arg5, %{{.*}} : memref<?x1024xbf16>
// TILE: %[[RESULT:.*]] = arith.select %[[IS_LAST]], %arg9, %{{.*}} : memref<1024x1024xf32>
// TILE: scf.for
// TILE: tile.load %[[LEFT]][
// TILE: tile.load %[[RIGHT]][%{{.*}}, %[[OWN]]]
// TILE: tile.store %{{.*}}, %[[RESULT]][%{{.*}}, %[[OWN]]]
func.func @gradients(%x: !x, %a: !x, %b: !x, %c: !x, %before: !w, %h: !x) -> (!w, !w, !w, !w) {
  %0 = heddle.matmul %x, %a {transpose_lhs} : !x, !x -> !w
  %1 = heddle.matmul %x, %b {transpose_lhs} : !x, !x -> !w
  %2 = arith.addf %1, %before : !w
  %3 = heddle.matmul %x, %c {transpose_lhs} : !x, !x -> !w
  %4 = arith.addf %3, %before : !w
  %e = math.exp %h : !x
  %5 = heddle.matmul %h, %e {transpose_lhs} : !x, !x -> !w
  %6 = arith.mulf %5, %before : !w
  return %0, %2, %4, %6 : !w, !w, !w, !w
}

// Not joined: three gradients are too few, tokens of the other side have another K extent, and the fourth one is
// computed only after the first one is needed. Their K dimension is split instead.
// CHECK-LABEL: func.func @too_few(
// CHECK-NOT: "matmuls"
// CHECK-COUNT-6: heddle.kernel "partial_matmul"
func.func @too_few(%x: !x, %a: !x, %b: !x, %c: !x, %y: !other, %before: !w) -> (!w, !w, !w, !w, !w, !w) {
  %0 = heddle.matmul %x, %a {transpose_lhs} : !x, !x -> !w
  %1 = heddle.matmul %x, %b {transpose_lhs} : !x, !x -> !w
  %2 = heddle.matmul %x, %c {transpose_lhs} : !x, !x -> !w
  %3 = heddle.matmul %y, %y {transpose_lhs} : !other, !other -> !w
  %4 = heddle.sum rows %0 : !w -> tensor<1024xf32>
  %5 = heddle.sum rows %1 : !w -> tensor<1024xf32>
  %6 = heddle.sum rows %2 : !w -> tensor<1024xf32>
  %7 = arith.addf %4, %5 : tensor<1024xf32>
  %8 = arith.addf %6, %7 : tensor<1024xf32>
  %9 = heddle.broadcast %8 : tensor<1024xf32> to !w
  %10 = heddle.matmul %a, %b {transpose_lhs} : !x, !x -> !w
  %11 = arith.addf %10, %9 : !w
  %12 = heddle.matmul %b, %b {transpose_lhs} : !x, !x -> !w
  return %0, %1, %2, %3, %11, %12 : !w, !w, !w, !w, !w, !w
}

// One matmul of this size has tiles for all processors.
// CHECK-LABEL: func.func @large(
// CHECK-NOT: "matmuls"
// CHECK-COUNT-4: heddle.kernel "matmul"
func.func @large(%a: !x, %b: !x, %c: !x, %d: !x, %h: !wide) -> (!large, !large, !large, !large) {
  %0 = heddle.matmul %a, %h {transpose_lhs} : !x, !wide -> !large
  %1 = heddle.matmul %b, %h {transpose_lhs} : !x, !wide -> !large
  %2 = heddle.matmul %c, %h {transpose_lhs} : !x, !wide -> !large
  %3 = heddle.matmul %d, %h {transpose_lhs} : !x, !wide -> !large
  return %0, %1, %2, %3 : !large, !large, !large, !large
}

// Matmuls with the same rows and the same epilogue share a launch, whatever their size.
// CHECK-LABEL: func.func @projections(
// CHECK: %[[P:.*]]:3 = heddle.kernel "matmuls_addf_truncf"(%arg0, %arg1, %arg4, %arg2, %arg5, %arg3, %arg6 :
// CHECK: heddle.matmul %[[X:.*]], %{{.*}} :
// CHECK: arith.truncf
// CHECK: heddle.matmul %[[X]], %{{.*}} :
// CHECK: arith.truncf
// CHECK: heddle.matmul %[[X]], %{{.*}} :
// CHECK: arith.truncf
// CHECK: {heddle.cost =
// CHECK: heddle.kernel "matmul_truncf"(%arg0, %arg1 :
// CHECK: return %[[P]]#0, %[[P]]#1, %[[P]]#2,

// TILE-LABEL: tile.func @matmuls_addf_truncf_Tx1024(
// TILE: %[[NUMBER:.*]] = arith.divui %[[COLUMN:.*]], %c1024
// TILE: %[[OWN:.*]] = arith.remui %[[COLUMN]], %c1024
// TILE: arith.select %{{.*}} : memref<1024x1024xbf16>
// TILE: %[[BIAS:.*]] = arith.select %{{.*}}, %arg6, %{{.*}} : memref<1x1024xf32>
// TILE: %[[RESULT:.*]] = arith.select %{{.*}}, %arg9, %{{.*}} : memref<?x1024xbf16>
// TILE: tile.load %arg0[
// TILE: tile.load %[[BIAS]][%{{.*}}, %[[OWN]]]
// TILE: tile.store %{{.*}}, %[[RESULT]][
func.func @projections(%x: !x, %a: !half, %b: !half, %c: !half, %d: !row, %e: !row, %f: !row) -> (!x, !x, !x, !x) {
  %0 = heddle.matmul %x, %a : !x, !half -> !rows
  %1 = heddle.broadcast %d : !row to !rows
  %2 = arith.addf %0, %1 : !rows
  %3 = arith.truncf %2 : !rows to !x
  %4 = heddle.matmul %x, %b : !x, !half -> !rows
  %5 = heddle.broadcast %e : !row to !rows
  %6 = arith.addf %4, %5 : !rows
  %7 = arith.truncf %6 : !rows to !x
  %8 = heddle.matmul %x, %c : !x, !half -> !rows
  %9 = heddle.broadcast %f : !row to !rows
  %10 = arith.addf %8, %9 : !rows
  %11 = arith.truncf %10 : !rows to !x
  %12 = heddle.matmul %x, %a : !x, !half -> !rows
  %13 = arith.truncf %12 : !rows to !x
  return %3, %7, %11, %13 : !x, !x, !x, !x
}

// The second result is needed before the third matmul, which stays alone.
// CHECK-LABEL: func.func @needed(
// CHECK: %[[P:.*]]:2 = heddle.kernel "matmuls_truncf"(%arg0, %arg1, %arg2 :
// CHECK: heddle.kernel "addf"(%[[P]]#1,
// CHECK: heddle.kernel "matmul_truncf"(%arg0,
func.func @needed(%x: !x, %a: !half, %b: !half) -> (!x, !x) {
  %0 = heddle.matmul %x, %a : !x, !half -> !rows
  %1 = arith.truncf %0 : !rows to !x
  %2 = heddle.matmul %x, %b : !x, !half -> !rows
  %3 = arith.truncf %2 : !rows to !x
  %4 = heddle.kernel "addf"(%3, %b : !x, !half) -> !half {
  ^bb0(%y: !x, %w: !half):
    %sum = arith.addf %w, %w : !half
    heddle.yield %sum : !half
  }
  %5 = heddle.matmul %x, %4 : !x, !half -> !rows
  %6 = arith.truncf %5 : !rows to !x
  return %1, %6 : !x, !x
}

// Not joined: the second matmul needs the first one's result, and a decoding step has kernels for few rows, which a
// joined matmul lacks.
// CHECK-LABEL: func.func @chained(
// CHECK-NOT: "matmuls"
func.func @chained(%x: !x, %a: !half) -> !x {
  %0 = heddle.matmul %x, %a : !x, !half -> !rows
  %1 = arith.truncf %0 : !rows to !x
  %2 = heddle.sum rows %0 : !rows -> !row
  %3 = heddle.broadcast %2 : !row to tensor<1024x1024xf32>
  %4 = arith.truncf %3 : tensor<1024x1024xf32> to !half
  %5 = heddle.matmul %x, %4 : !x, !half -> !rows
  %6 = arith.truncf %5 : !rows to !x
  %7 = arith.addf %1, %6 : !x
  return %7 : !x
}

// CHECK-LABEL: func.func @decode(
// CHECK-NOT: "matmuls"
func.func @decode(%x: !x, %a: !half, %b: !half) -> (!x, !x) {
  %cache = heddle.read @cache : tensor<4x1024xf32>
  heddle.write @cache, %cache : tensor<4x1024xf32>
  %0 = heddle.matmul %x, %a : !x, !half -> !rows
  %1 = arith.truncf %0 : !rows to !x
  %2 = heddle.matmul %x, %b : !x, !half -> !rows
  %3 = arith.truncf %2 : !rows to !x
  return %1, %3 : !x, !x
}
