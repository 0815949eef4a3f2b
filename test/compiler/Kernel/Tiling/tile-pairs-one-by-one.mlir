// Queries that are alone in their sequences, and heads that are too wide for tiles of queries: pairs are taken one by
// one.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-count-costs,heddle-tile,canonicalize,cse)' | FileCheck %s
heddle.size @tokens max 256
heddle.size @sequences max 16
heddle.size @length max 32
heddle.size @step max 16 of @sequences from 0
!rows = tensor<?x8xf32, #heddle.dims<"step">>
!tokens = tensor<?x8xf32, #heddle.dims<"tokens">>
!scores = tensor<?x2x32xf32, #heddle.dims<"step">>
!numbers = tensor<?xi32, #heddle.dims<"step">>
!wide = tensor<?x512xf32, #heddle.dims<"tokens">>
!wides = tensor<?x2x32xf32, #heddle.dims<"tokens">>
!starts = tensor<?xi32, #heddle.dims<"sequences">>

// CHECK-LABEL: func.func @alone
// CHECK: tile.launch @scores_Tx2x32({{.*}}) grid [#tile.grid<"", 1, 1>, #tile.grid<"", 1, 2>, #tile.grid<"step", 1, 1>] sizes ["step"]
// CHECK: tile.launch @context_Tx8({{.*}}) grid [#tile.grid<"", 1, 1>, #tile.grid<"", 1, 2>, #tile.grid<"step", 1, 1>] sizes ["step"]
// CHECK: tile.launch @transposed_context_Tx8({{.*}}) grid [#tile.grid<"", 1, 1>, #tile.grid<"length", 1, 2>, #tile.grid<"step", 1, 1>] sizes ["step"]

// With two heads of 512 columns a workgroup still owns one query. There are as many workgroups as the longest sequence
// has queries. Starts and lengths are in memory, so the kernel does not read the step's size.
// CHECK-LABEL: func.func @wide
// CHECK: tile.launch @[[WIDE:scores_[a-zA-Z0-9_]*]]({{.*}}) grid [#tile.grid<"", 1, 1>, #tile.grid<"length", 1, 2>, #tile.grid<"sequences", 1, 1>] sizes []
// CHECK: tile.launch @context_Tx512({{.*}}) grid [#tile.grid<"", 1, 8>, #tile.grid<"length", 1, 2>, #tile.grid<"sequences", 1, 1>] sizes []

// Scores: 32 keys side by side, and 4 columns of the head at a time. The parameter has the columns of the query and the
// keys.
// CHECK-LABEL: tile.func @scores_Tx2x32(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<?x8xf32>, %[[K:[a-z0-9]+]]: memref<?x8xf32>, %[[V:[a-z0-9]+]]: memref<1x8xf32>
// CHECK: %[[COLUMNS:.*]] = arith.muli %{{.*}}, %c4 : index
// If all of the keys lie past the sequence's end, no column is read.
// CHECK: %[[END:.*]] = arith.select %{{.*}}, %c4, %c0 : index
// CHECK: scf.for %[[I:.*]] = %c0 to %[[END]] step %c4
// CHECK: %[[COLUMN:.*]] = arith.addi %[[COLUMNS]], %[[I]] : index
// CHECK: tile.load %[[Q]][%{{.*}}, %[[COLUMN]]] {transposed} : memref<?x8xf32> -> tensor<4x1xf32>
// CHECK: tile.load %[[K]][%{{.*}}, %[[COLUMN]]] rows(%{{.*}}) {transposed} : memref<?x8xf32> -> tensor<4x32xf32>
// CHECK: tile.load %[[V]][%c0, %[[COLUMN]]] {transposed} : memref<1x8xf32> -> tensor<4x1xf32>

// The sum of the keys' values: a lane has a column and loops over the keys of the sequence, 8 at a time.
// CHECK-LABEL: tile.func @context_Tx8(
// CHECK-SAME: %[[W:[a-z0-9]+]]: memref<?x64xf32>, %[[VALUES:[a-z0-9]+]]: memref<?x8xf32>, {{.*}}%[[STEP:[a-z0-9]+]]: index)
// CHECK: %[[SEQUENCE:.*]] = gpu.block_id  z
// CHECK: %[[THERE:.*]] = arith.cmpi ult, %[[SEQUENCE]], %[[STEP]] : index
// CHECK: scf.if
// CHECK: scf.for %{{.*}} = %c0 to %{{.*}} step %c8
// CHECK: tile.load %[[VALUES]]{{.*}} : memref<?x8xf32> -> tensor<8x8xf32>
// CHECK: tile.load %[[W]]{{.*}} {transposed} : memref<?x64xf32> -> tensor<8x1xf32>
// CHECK: tile.reduce  sum {{.*}} dim 0 : tensor<8x8xf32> -> tensor<1x8xf32>
// CHECK: tile.store {{.*}} columns(

// A key has only the sequence's single query, so there is no loop.
// CHECK-LABEL: tile.func @transposed_context_Tx8(
// CHECK-NOT: scf.for
// CHECK: tile.load {{.*}} : memref<?x8xf32> -> tensor<1x8xf32>
// CHECK: tile.load {{.*}} : memref<?x64xf32> -> tensor<1x1xf32>
// CHECK-NOT: scf.for
// CHECK: tile.return

// Wide heads: 256 columns, 8 at a time.
// CHECK: tile.func @[[WIDE]](
// CHECK: scf.for %{{.*}} = %c0 to %{{.*}} step %c8
// CHECK: tile.load {{.*}} {transposed} : memref<?x512xf32> -> tensor<8x1xf32>
// CHECK: tile.load {{.*}} {transposed} : memref<?x512xf32> -> tensor<8x32xf32>
// CHECK-LABEL: tile.func @context_Tx512(
// CHECK: tile.load {{.*}} : memref<?x512xf32> -> tensor<8x32xf32>
func.func @alone(%q: !rows {heddle.name = "q"}, %k: !tokens {heddle.name = "k"}, %v: tensor<8xf32> {heddle.name = "v"},
                 %ks: !numbers {heddle.name = "ks"}, %kl: !numbers {heddle.name = "kl"})
    -> (!rows {heddle.name = "c"}, !tokens {heddle.name = "t"}) {
  %number = heddle.iota : !numbers
  %one = heddle.fill 1 : i32 : !numbers
  %s = heddle.scores %q, %k parameters(%v) queries(%number, %one) keys(%ks, %kl) combine {
  ^bb0(%a: f32, %b: f32, %w: f32):
    %0 = arith.addf %a, %b : f32
    %1 = arith.mulf %0, %w : f32
    heddle.yield %1 : f32
  } {query_size = "", key_size = "length"} : (!rows, !tokens, tensor<8xf32>, !numbers, !numbers, !numbers, !numbers) -> !scores
  %c = heddle.context %s, %k queries(%number, %one) keys(%ks, %kl) {query_size = "", key_size = "length"}
    : (!scores, !tokens, !numbers, !numbers, !numbers, !numbers) -> !rows
  %t = heddle.transposed_context %s, %q queries(%number, %one) keys(%ks, %kl) {query_size = "", key_size = "length"}
    : (!scores, !rows, !numbers, !numbers, !numbers, !numbers) -> !tokens
  return %c, %t : !rows, !tokens
}

func.func @wide(%q: !wide {heddle.name = "q"}, %s: !starts {heddle.name = "s"}, %l: !starts {heddle.name = "l"})
    -> (!wide {heddle.name = "c"}) {
  %p = heddle.scores %q, %q queries(%s, %l) keys(%s, %l) {query_size = "length", key_size = "length"}
    : (!wide, !wide, !starts, !starts, !starts, !starts) -> !wides
  %c = heddle.context %p, %q queries(%s, %l) keys(%s, %l) {query_size = "length", key_size = "length"}
    : (!wides, !wide, !starts, !starts, !starts, !starts) -> !wide
  return %c : !wide
}
