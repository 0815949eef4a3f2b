// Scores computed by a region, and their gradients. For scores a lane has keys and loops over the columns. For
// gradients it has columns and loops over the rows of the other side.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-count-costs,heddle-tile,canonicalize,cse)' | FileCheck %s
heddle.size @tokens max 256
heddle.size @sequences max 16
heddle.size @length max 32
heddle.size @step max 16 of @sequences from 0
!tokens = tensor<?x8xf32, #heddle.dims<"tokens">>
!rows = tensor<?x8xf32, #heddle.dims<"step">>
!scores = tensor<?x2x32xf32, #heddle.dims<"step">>
!numbers = tensor<?xi32, #heddle.dims<"step">>

// CHECK-LABEL: func.func @gradients
// CHECK: tile.launch @scores_Tx2x32({{.*}}) grid [#tile.grid<"", 1, 1>, #tile.grid<"", 1, 2>, #tile.grid<"step", 1, 1>] sizes ["step"]
// CHECK: tile.launch @scores_grad_query_Tx8({{.*}}) grid [#tile.grid<"", 1, 1>, #tile.grid<"", 1, 2>, #tile.grid<"step", 1, 1>]
// CHECK: tile.launch @scores_grad_key_Tx8({{.*}}) grid [#tile.grid<"", 1, 1>, #tile.grid<"length", 1, 2>, #tile.grid<"step", 1, 1>]

// The place of a sequence's query takes no memory. A sequence that the step lacks has no query.
// CHECK-LABEL: tile.func @scores_Tx2x32
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<?x8xf32>, %[[K:[a-z0-9]+]]: memref<?x8xf32>, {{.*}} %[[STEP:[a-z0-9]+]]: index)
// CHECK: %[[SEQUENCE:.*]] = gpu.block_id  z
// CHECK: %[[THERE:.*]] = arith.cmpi ult, %[[SEQUENCE]], %[[STEP]] : index
// CHECK: scf.if
// CHECK: scf.for
// CHECK: tile.load %[[Q]]{{.*}} {transposed} : memref<?x8xf32> -> tensor<4x1xf32>
// CHECK: tile.load %[[K]]{{.*}} {transposed} : memref<?x8xf32> -> tensor<4x32xf32>
// CHECK: math.absf
// CHECK: tile.reduce  sum {{.*}} dim 0
// CHECK: arith.select
// CHECK: tile.store

// CHECK-LABEL: tile.func @scores_grad_query_Tx8
// CHECK: scf.for
// CHECK: tile.load {{.*}} {transposed} : memref<?x64xf32> -> tensor<8x1xf32>
// CHECK: tile.reduce  sum {{.*}} dim 0

// Here a key has at most one query.
// CHECK-LABEL: tile.func @scores_grad_key_Tx8
// CHECK: tile.load {{.*}} : memref<?x64xf32> -> tensor<1x1xf32>
// CHECK: tile.store
func.func @gradients(%q: !rows {heddle.name = "q"}, %k: !tokens {heddle.name = "k"}, %ks: !numbers {heddle.name = "ks"},
                     %kl: !numbers {heddle.name = "kl"})
    -> (!scores {heddle.name = "s"}, !rows {heddle.name = "dq"}, !tokens {heddle.name = "dk"}) {
  %number = heddle.iota : !numbers
  %one = heddle.fill 1 : i32 : !numbers
  %s = heddle.scores %q, %k queries(%number, %one) keys(%ks, %kl) combine {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.subf %a, %b : f32
    %1 = math.absf %0 : f32
    heddle.yield %1 : f32
  } {query_size = "", key_size = "length"} : (!rows, !tokens, !numbers, !numbers, !numbers, !numbers) -> !scores
  %dq = heddle.scores_grad_query %s of %q, %k queries(%number, %one) keys(%ks, %kl) slope {
  ^bb0(%a: f32, %b: f32, %g: f32):
    %0 = arith.mulf %b, %g : f32
    heddle.yield %0 : f32
  } {query_size = "", key_size = "length"} : (!scores, !rows, !tokens, !numbers, !numbers, !numbers, !numbers) -> !rows
  %dk = heddle.scores_grad_key %s of %q, %k queries(%number, %one) keys(%ks, %kl) slope {
  ^bb0(%a: f32, %b: f32, %g: f32):
    %0 = arith.mulf %a, %g : f32
    heddle.yield %0 : f32
  } {query_size = "", key_size = "length"} : (!scores, !rows, !tokens, !numbers, !numbers, !numbers, !numbers) -> !tokens
  return %s, %dq, %dk : !scores, !rows, !tokens
}
