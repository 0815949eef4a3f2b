// Attention through lists in a single kernel, which copies no row of a neighbour to memory. Gradients of keys use the
// lists of users: a workgroup has a key and loads the number of each pair by itself.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-count-costs,heddle-tile,canonicalize,cse)' | FileCheck %s
heddle.size @nodes max 256
heddle.size @neighbours max 12 longest "degrees"
!rows = tensor<?x8xf32, #heddle.dims<"nodes">>
!scores = tensor<?x2x16xf32, #heddle.dims<"nodes">>
!lists = tensor<?x12xi32, #heddle.dims<"nodes">>
!index = tensor<?xi32, #heddle.dims<"nodes">>

// CHECK-LABEL: func.func @attend
// CHECK-COUNT-1: tile.launch @context_scores_mask_softmax
// CHECK-NOT: tile.launch
// CHECK: return
func.func @attend(%q: !rows {heddle.name = "q"}, %k: !rows {heddle.name = "k"}, %n: !lists {heddle.name = "n"}, %d: !index {heddle.name = "d"})
    -> (!rows {heddle.name = "y"}) {
  %first = heddle.iota {dim = 0 : i64} : !index
  %one = heddle.fill 1 : i32 : !index
  %zero = heddle.fill 0 : i32 : !index
  %s = heddle.scores %q, %k rows(%n) queries(%first, %one) keys(%zero, %d) {query_size = "", key_size = "neighbours"}
    : (!rows, !rows, !lists, !index, !index, !index, !index) -> !scores
  %m = heddle.mask %s at(%zero, %first) keys(%d) {value = 0xFF800000 : f32} : !scores, !index, !index
  %w = heddle.softmax %m : !scores
  %y = heddle.context %w, %k rows(%n) queries(%first, %one) keys(%zero, %d) {query_size = "", key_size = "neighbours"}
    : (!scores, !rows, !lists, !index, !index, !index, !index) -> !rows
  return %y : !rows
}

// CHECK-LABEL: func.func @transposed
// CHECK: tile.launch @transposed_context_Tx8({{.*}}) grid [#tile.grid<"", 1, 1>, #tile.grid<"", 1, 2>, #tile.grid<"nodes", 1, 1>]
func.func @transposed(%w: !scores {heddle.name = "w"}, %x: !rows {heddle.name = "x"}, %u: !lists {heddle.name = "u"},
                      %s: !lists {heddle.name = "s"}, %c: !index {heddle.name = "c"}, %d: !index {heddle.name = "d"})
    -> (!rows {heddle.name = "y"}) {
  %first = heddle.iota {dim = 0 : i64} : !index
  %one = heddle.fill 1 : i32 : !index
  %zero = heddle.fill 0 : i32 : !index
  %y = heddle.transposed_context %w, %x users(%u, %s, %c) queries(%first, %one) keys(%zero, %d) {query_size = "", key_size = "neighbours"}
    : (!scores, !rows, !lists, !lists, !index, !index, !index, !index, !index) -> !rows
  return %y : !rows
}

// For scores each lane has a neighbour, and for sums a column.
// CHECK-LABEL: tile.func @context_scores_mask_softmax
// CHECK: %[[NUMBERS:.*]] = tile.load {{.*}} : memref<?x12xi32> -> tensor<1x[[LANES:[0-9]+]]xi32>
// CHECK: tile.gather %{{.*}}[%[[NUMBERS]], %{{.*}}] {transposed} : memref<?x8xf32>, tensor<1x[[LANES]]xi32> -> tensor<4x[[LANES]]xf32>
// CHECK: %[[ROWS:.*]] = tile.load {{.*}} {transposed} : memref<?x12xi32> -> tensor<8x1xi32>
// CHECK: tile.gather %{{.*}}[%[[ROWS]], %{{.*}}] {{.*}}: memref<?x8xf32>, tensor<8x1xi32> -> tensor<8x[[LANES]]xf32>

// CHECK-LABEL: tile.func @transposed_context_Tx8
// CHECK: scf.for
// CHECK: %[[USER:.*]] = tile.load {{.*}} {transposed} : memref<?x12xi32> -> tensor<1x1xi32>
// CHECK: tile.gather %{{.*}}[%[[USER]], %{{.*}}]
// CHECK: memref.load
// CHECK: memref.load
// CHECK: %[[WEIGHT:.*]] = memref.load %{{.*}} : memref<?x32xf32>
// CHECK: tile.splat %[[WEIGHT]]
