// One kernel of each kind as one workgroup's program on vulkan:software: 8 lanes, vectors of 4. The entries are written as
// graphs; heddle-fuse-kernels makes the kernels.
// RUN: heddle-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile)' | FileCheck %s

!x = tensor<?x64xf32, #heddle.dims<"tokens">>
heddle.size @tokens max 2048

// The number of rows is known only at run time. The kernel gets it as an argument, and neither reads nor writes past
// it.
// CHECK-LABEL: func.func @elementwise(
// CHECK: tile.launch @exp_Tx64(%arg0) grid [#tile.grid<"", 1, 2>, #tile.grid<"tokens", 4, 1>, #tile.grid<"", 1, 1>] sizes ["tokens"] reuse [0] :
// CHECK-LABEL: tile.func @exp_Tx64(
// CHECK-SAME: %[[IN:.*]]: memref<?x64xf32>, %[[OUT:.*]]: memref<?x64xf32>, %[[N:.*]]: index) attributes {mapping = #tile.mapping<columns>, vector = 4 : i64, workgroup = 8 : i64}
// CHECK: %[[X:.*]] = gpu.block_id x
// CHECK: %[[COLUMN:.*]] = arith.muli %[[X]], %c32
// CHECK: %[[Y:.*]] = gpu.block_id y
// CHECK: %[[ROW:.*]] = arith.muli %[[Y]], %c4
// CHECK-NEXT: %[[A:.*]] = tile.load %[[IN]][%[[ROW]], %[[COLUMN]]] rows(%[[N]]) : memref<?x64xf32> -> tensor<4x32xf32>
// CHECK-NEXT: %[[E:.*]] = math.exp %[[A]] : tensor<4x32xf32>
// CHECK-NEXT: tile.store %[[E]], %[[OUT]][%[[ROW]], %[[COLUMN]]] rows(%[[N]]) : tensor<4x32xf32>, memref<?x64xf32>
// CHECK-NEXT: tile.return
func.func @elementwise(%x: !x) -> !x {
  %e = math.exp %x : !x
  return %e : !x
}

// -----

heddle.size @tokens max 2048

// Tiles that divide the matrix need no limit.
// CHECK-LABEL: func.func @elementwise_static(
// CHECK: tile.launch @exp_16x64(%arg0) grid [#tile.grid<"", 1, 2>, #tile.grid<"", 1, 4>, #tile.grid<"", 1, 1>] sizes [] reuse [0] :
// CHECK-LABEL: tile.func @exp_16x64(
// CHECK: tile.load %arg0[%{{.*}}, %{{[^]]*}}] : memref<16x64xf32> -> tensor<4x32xf32>
// CHECK: tile.store %{{.*}}, %arg1[%{{.*}}, %{{[^]]*}}] : tensor<4x32xf32>, memref<16x64xf32>
func.func @elementwise_static(%w: tensor<16x64xf32>) -> tensor<16x64xf32> {
  %e = math.exp %w : tensor<16x64xf32>
  return %e : tensor<16x64xf32>
}

// -----

!column = tensor<?xf32, #heddle.dims<"tokens">>
heddle.size @tokens max 2048

// Lanes share the rows of a column, because it has nothing else to share. A row of 50 is read in vectors of 2, up to
// its end.
// CHECK-LABEL: tile.func @negf_T(
// CHECK-SAME: memref<?x1xf32>, %{{.*}}: memref<?x1xf32>, %[[N:.*]]: index) attributes {mapping = #tile.mapping<rows>
// CHECK: tile.load %arg0[{{.*}}] rows(%[[N]]) : memref<?x1xf32> -> tensor<8x1xf32>
// CHECK-LABEL: tile.func @negf_50(
// CHECK-SAME: memref<1x50xf32>, %{{.*}}: memref<1x50xf32>) attributes {mapping = #tile.mapping<columns>, vector = 2
// CHECK: %[[END:.*]] = arith.constant 50 : index
// CHECK: tile.load %arg0[{{.*}}] columns(%[[END]]) : memref<1x50xf32> -> tensor<1x16xf32>
// CHECK: tile.store {{.*}} columns(%[[END]]) : tensor<1x16xf32>, memref<1x50xf32>
func.func @column_and_row(%c: !column, %r: tensor<50xf32>) -> (!column, tensor<50xf32>) {
  %n = arith.negf %c : !column
  %m = arith.negf %r : tensor<50xf32>
  return %n, %m : !column, tensor<50xf32>
}

// -----

!x = tensor<?x64xf32, #heddle.dims<"tokens">>
!y = tensor<?x50xf32, #heddle.dims<"tokens">>
heddle.size @tokens max 2048

// A lane has 24 rows and 8 columns, with one loop along the K dimension, whose extent is a multiple of the step. Rows
// and columns past the result's end are not stored, so their values do not matter. The epilogue works on the finished
// tile.
// CHECK-LABEL: func.func @matmul(
// CHECK: tile.launch @matmul_addf_Tx50(%arg0, %arg1, %arg2) grid [#tile.grid<"tokens", 24, 1>, #tile.grid<"", 1, 1>, #tile.grid<"", 1, 1>] sizes ["tokens"] reuse [-1] :
// CHECK-LABEL: tile.func @matmul_addf_Tx50(
// CHECK-SAME: %[[A:.*]]: memref<?x64xf32>, %[[B:.*]]: memref<64x50xf32>, %[[BIAS:.*]]: memref<1x50xf32>, %[[OUT:.*]]: memref<?x50xf32>, %[[N:.*]]: index) attributes {mapping = #tile.mapping<columns>, vector = 2
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<24x64xf32>
// CHECK: %[[P:.*]] = scf.for %[[K:.*]] = %c0{{.*}} to %c64{{.*}} step %c4{{.*}} iter_args(%[[STATE:.*]] = %[[ZERO]]) -> (tensor<24x64xf32>) {
// CHECK-NEXT:   %[[L:.*]] = tile.load %[[A]][%[[ROW:.*]], %[[K]]] rows(%[[N]]) {any_padding} : {{.*}} -> tensor<24x4xf32>
// CHECK-NEXT:   %[[R:.*]] = tile.load %[[B]][%[[K]], %[[COLUMN:.*]]] columns(%c50{{.*}}) {any_padding} : {{.*}} -> tensor<4x64xf32>
// CHECK-NEXT:   %[[NEXT:.*]] = tile.dot %[[L]], %[[R]], %[[STATE]] : tensor<24x4xf32>, tensor<4x64xf32> -> tensor<24x64xf32>
// CHECK-NEXT:   scf.yield %[[NEXT]]
// CHECK-NEXT: }
// CHECK-NEXT: %[[BTILE:.*]] = tile.load %[[BIAS]][%c0{{.*}}, %[[COLUMN]]] columns(%c50{{.*}}) : memref<1x50xf32> -> tensor<1x64xf32>
// CHECK-NEXT: %[[WIDE:.*]] = tile.broadcast %[[BTILE]] : tensor<1x64xf32> -> tensor<24x64xf32>
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[P]], %[[WIDE]]
// CHECK-NEXT: tile.store %[[S]], %[[OUT]][%[[ROW]], %[[COLUMN]]] rows(%[[N]]) columns(%c50{{.*}})
func.func @matmul(%x: !x, %w: tensor<64x50xf32>, %bias: tensor<50xf32>) -> !y {
  %p = heddle.matmul %x, %w : !x, tensor<64x50xf32> -> !y
  %b = heddle.broadcast %bias : tensor<50xf32> to !y
  %s = arith.addf %p, %b : !y
  return %s : !y
}

// -----

!x = tensor<?x64xf32, #heddle.dims<"tokens">>
!y = tensor<?x96xf32, #heddle.dims<"tokens">>
heddle.size @tokens max 2048

// The lanes lie along the rows, so both sides are loaded in vectors along the K dimension.
// CHECK-LABEL: tile.func @matmul_Tx96(
// CHECK-SAME: mapping = #tile.mapping<rows>
// CHECK: scf.for {{.*}} step %c8
// CHECK: %[[L:.*]] = tile.load %arg0[{{.*}}] rows(%arg3) {any_padding} : memref<?x64xf32> -> tensor<64x8xf32>
// CHECK: %[[R:.*]] = tile.load %arg1[{{.*}}] {any_padding} : memref<96x64xf32> -> tensor<24x8xf32>
// CHECK: tile.dot %[[L]], %[[R]], %{{.*}} {transpose_rhs} : tensor<64x8xf32>, tensor<24x8xf32> -> tensor<64x24xf32>
func.func @matmul_nt(%x: !x, %w: tensor<96x64xf32>) -> !y {
  %p = heddle.matmul %x, %w {transpose_rhs} : !x, tensor<96x64xf32> -> !y
  return %p : !y
}

// -----

!x = tensor<?x64xf32, #heddle.dims<"tokens">>
!y = tensor<?x96xf32, #heddle.dims<"tokens">>
heddle.size @tokens max 2048

// A weight's gradient contracts tokens, so rows past the last token must be zero.
// CHECK-LABEL: func.func @matmul_tn(
// CHECK: tile.launch @matmul_64x96(%arg0, %arg1) grid [#tile.grid<"", 1, 4>, #tile.grid<"", 1, 1>, #tile.grid<"", 1, 1>] sizes ["tokens"]
// CHECK-LABEL: tile.func @matmul_64x96(
// CHECK-SAME: %[[N:[^:]*]]: index) attributes {mapping = #tile.mapping<columns>
// CHECK: scf.for %[[K:.*]] = %c0{{.*}} to %[[N]] step %c4
// CHECK: %[[L:.*]] = tile.load %arg0[%[[K]], %{{.*}}] rows(%[[N]]) : memref<?x64xf32> -> tensor<4x16xf32>
// CHECK: %[[R:.*]] = tile.load %arg1[%[[K]], %{{.*}}] rows(%[[N]]) : memref<?x96xf32> -> tensor<4x96xf32>
// CHECK: tile.dot %[[L]], %[[R]], %{{.*}} {transpose_lhs} : tensor<4x16xf32>, tensor<4x96xf32> -> tensor<16x96xf32>
// CHECK: tile.store %{{.*}}, %arg2[%{{.*}}, %{{[^]]*}}] : tensor<16x96xf32>, memref<64x96xf32>
func.func @matmul_tn(%x: !x, %g: !y) -> tensor<64x96xf32> {
  %p = heddle.matmul %x, %g {transpose_lhs} : !x, !y -> tensor<64x96xf32>
  return %p : tensor<64x96xf32>
}

// -----

!x = tensor<?x256xf32, #heddle.dims<"tokens">>
heddle.size @tokens max 2048

// The prologue exp turns zeros past the last row into ones, so they are masked before they are summed.
// CHECK-LABEL: tile.func @sum_exp_256(
// CHECK-SAME: %[[N:[^:]*]]: index) attributes {mapping = #tile.mapping<columns>
// CHECK: %[[S:.*]] = scf.for %[[ROW:.*]] = %c0{{.*}} to %[[N]] step %c8{{.*}} iter_args(%[[STATE:.*]] = %{{.*}}) -> (tensor<1x32xf32>)
// CHECK:   %[[X:.*]] = tile.load %arg0[%[[ROW]], %{{.*}}] rows(%[[N]]) : {{.*}} -> tensor<8x32xf32>
// CHECK:   %[[E:.*]] = math.exp %[[X]]
// CHECK:   %[[INDEX:.*]] = tile.index %[[ROW]] dim 0
// CHECK:   %[[INSIDE:.*]] = arith.cmpi ult, %[[INDEX]]
// CHECK:   %[[WIDE:.*]] = tile.broadcast %[[INSIDE]]
// CHECK:   %[[MASKED:.*]] = arith.select %[[WIDE]], %[[E]], %{{.*}} : tensor<8x32xi1>, tensor<8x32xf32>
// CHECK:   %[[R:.*]] = tile.reduce sum %[[MASKED]] dim 0 : tensor<8x32xf32> -> tensor<1x32xf32>
// CHECK:   arith.addf %[[STATE]], %[[R]]
// CHECK: tile.store %[[S]], %arg1[%c0{{.*}}] : tensor<1x32xf32>, memref<1x256xf32>
func.func @sum_rows(%x: !x) -> tensor<256xf32> {
  %e = math.exp %x : !x
  %s = heddle.sum rows %e : !x -> tensor<256xf32>
  return %s : tensor<256xf32>
}

// -----

!x = tensor<?x256xf32, #heddle.dims<"tokens">>
!column = tensor<?xf32, #heddle.dims<"tokens">>
heddle.size @tokens max 2048

// A lane owns a row and walks over it in chunks that divide its width.
// CHECK-LABEL: func.func @sum_columns(
// CHECK: tile.launch @sum_T(%arg0) grid [#tile.grid<"tokens", 8, 1>, #tile.grid<"", 1, 1>, #tile.grid<"", 1, 1>]
// CHECK-LABEL: tile.func @sum_T(
// CHECK-SAME: mapping = #tile.mapping<rows>
// CHECK: scf.for {{.*}} to %c256{{.*}} step %c64{{.*}} -> (tensor<8x1xf32>)
// CHECK:   %[[X:.*]] = tile.load %arg0[{{.*}}] rows(%arg2) : {{.*}} -> tensor<8x64xf32>
// CHECK:   tile.reduce sum %[[X]] dim 1 : tensor<8x64xf32> -> tensor<8x1xf32>
// CHECK: tile.store {{.*}} rows(%arg2) : tensor<8x1xf32>, memref<?x1xf32>
func.func @sum_columns(%x: !x) -> !column {
  %s = heddle.sum columns %x : !x -> !column
  return %s : !column
}

// -----

!x = tensor<?x256xf32, #heddle.dims<"tokens">>
!column = tensor<?xf32, #heddle.dims<"tokens">>
heddle.size @tokens max 2048

// Three walks over a row: mean, variance, result. The residual's addition is the epilogue of the last walk.
// CHECK-LABEL: tile.func @layer_norm_addf_Tx256(
// CHECK-SAME: mapping = #tile.mapping<rows>
// CHECK: scf.for {{.*}} step %c64
// CHECK:   tile.reduce sum
// CHECK: scf.for {{.*}} step %c64
// CHECK:   %[[C:.*]] = arith.subf
// CHECK:   %[[SQUARE:.*]] = arith.mulf %[[C]], %[[C]]
// CHECK:   tile.reduce sum %[[SQUARE]]
// CHECK: %[[RSTD:.*]] = math.rsqrt
// CHECK: scf.for {{.*}} step %c64
// CHECK:   %[[Y:.*]] = math.fma
// CHECK:   %[[R:.*]] = arith.addf %[[Y]]
// CHECK:   tile.store %[[R]], {{.*}} rows(%{{.*}}) : tensor<8x64xf32>, memref<?x256xf32>
func.func @layer_norm(%x: !x, %gamma: tensor<256xf32>, %beta: tensor<256xf32>) -> !x {
  %y, %mean, %rstd = heddle.layer_norm %x, %gamma, %beta {epsilon = 1.0e-6 : f32} : !x, tensor<256xf32>, tensor<256xf32> -> !column
  %r = arith.addf %y, %x : !x
  return %r : !x
}

// -----

!x = tensor<?x256xf32, #heddle.dims<"tokens">>
!column = tensor<?xf32, #heddle.dims<"tokens">>
!indices = tensor<?xi32, #heddle.dims<"tokens">>
heddle.size @tokens max 2048

// One walk: the maximum so far, the exponentials relative to it, the sum, and the target's logit.
// CHECK-LABEL: tile.func @cross_entropy_T(
// CHECK-SAME: mapping = #tile.mapping<rows>
// CHECK: %[[T:.*]] = tile.load %arg1[{{.*}}] rows(%{{.*}}) : memref<?x1xi32> -> tensor<8x1xi32>
// CHECK: %{{.*}}:4 = scf.for {{.*}} step %c64
// CHECK:   %[[X:.*]] = tile.load %arg0
// CHECK:   tile.reduce max %[[X]] dim 1
// CHECK:   arith.maximumf
// CHECK:   math.fma
// CHECK:   tile.reduce sum %[[X]] dim 1
// CHECK:   tile.broadcast %[[T]]
// CHECK:   %[[HIT:.*]] = arith.cmpi eq
// CHECK:   arith.select %[[HIT]], %[[X]]
// CHECK-NOT: scf.for
// CHECK: math.log
// CHECK: tile.store {{.*}}, %arg2
// CHECK: tile.store {{.*}}, %arg3
func.func @cross_entropy(%x: !x, %targets: !indices) -> (!column, !column) {
  %loss, %lse = heddle.cross_entropy %x, %targets {smoothing = 0.1 : f32} : !x, !indices -> !column
  return %loss, %lse : !column, !column
}

// -----

!x = tensor<?x256xf32, #heddle.dims<"tokens">>
!indices = tensor<?xi32, #heddle.dims<"tokens">>
heddle.size @tokens max 2048

// Of several maxima the first one wins: the smallest column within a chunk, and a later chunk must be greater.
// CHECK-LABEL: tile.func @argmax_T(
// CHECK: %[[BEST:.*]]:2 = scf.for
// CHECK:   %[[LARGEST:.*]] = tile.reduce max %{{.*}} dim 1
// CHECK:   tile.reduce min %{{.*}} dim 1 : tensor<8x64xi32> -> tensor<8x1xi32>
// CHECK:   arith.cmpf ogt, %[[LARGEST]]
// CHECK: tile.store %[[BEST]]#1, {{.*}} : tensor<8x1xi32>, memref<?x1xi32>
func.func @argmax(%x: !x) -> !indices {
  %r = heddle.argmax %x : !x -> !indices
  return %r : !indices
}

// -----

heddle.size @tokens max 2048
heddle.variable @table weight : tensor<100x64xf32>

// CHECK-LABEL: tile.func @embedding_Tx64(
// CHECK: %[[I:.*]] = tile.load %arg0[%{{.*}}, %c0{{.*}}] rows(%arg3) : memref<?x1xi32> -> tensor<4x1xi32>
// CHECK: %[[R:.*]] = tile.gather %arg1[%[[I]], %{{.*}}] : memref<100x64xf32>, tensor<4x1xi32> -> tensor<4x32xf32>
// CHECK: tile.store %[[R]], %arg2{{.*}} rows(%arg3)
func.func @embedding(%i: tensor<?xi32, #heddle.dims<"tokens">>) -> tensor<?x64xf32, #heddle.dims<"tokens">> {
  %t = heddle.read @table : tensor<100x64xf32>
  %r = heddle.embedding %i, %t : tensor<?xi32, #heddle.dims<"tokens">>, tensor<100x64xf32> -> tensor<?x64xf32, #heddle.dims<"tokens">>
  return %r : tensor<?x64xf32, #heddle.dims<"tokens">>
}

// -----

!x = tensor<?x64xf32, #heddle.dims<"tokens">>
heddle.size @tokens max 2048

// Seed and step are scalars, so registers are as wide as the matrix allows. A random number depends only on the
// element's place. The stream is passed like a size, so that all dropouts of this shape share the kernel.
// CHECK: heddle.size @number_7 max 7 fixed
// CHECK-LABEL: func.func @dropout(
// CHECK: tile.launch @dropout_Tx64(%arg0, %arg1, %arg2) {{.*}} sizes ["tokens", "number_7"] reuse [0]
// CHECK-LABEL: tile.func @dropout_Tx64(
// CHECK-SAME: memref<?x64xf32>, %[[SEED:.*]]: memref<1x2xi32>, %[[STEP:.*]]: memref<1x1xi32>, {{.*}}, %[[NUMBER:.*]]: index) attributes {mapping = #tile.mapping<columns>, vector = 4
// CHECK-DAG: %[[ROWS:.*]] = tile.index %{{.*}} dim 0
// CHECK-DAG: %[[COLUMNS:.*]] = tile.index %{{.*}} dim 1
// CHECK-DAG: %[[R:.*]] = tile.broadcast %[[ROWS]]
// CHECK-DAG: %[[C:.*]] = tile.broadcast %[[COLUMNS]]
// CHECK-DAG: %[[S:.*]] = memref.load %[[STEP]][%c0{{.*}}, %c0{{.*}}]
// CHECK-DAG: %[[STREAM:.*]] = arith.index_cast %[[NUMBER]] : index to i32
// CHECK-DAG: %[[HIGH:.*]] = memref.load %[[SEED]][%c0{{.*}}, %c1{{.*}}]
// CHECK-DAG: %[[LOW:.*]] = memref.load %[[SEED]][%c0{{.*}}, %c0{{.*}}]
// CHECK: %[[U:.*]] = tile.random seed(%[[LOW]], %[[HIGH]]) step %[[S]] stream %[[STREAM]] at(%[[R]], %[[C]])
// CHECK: %[[KEEP:.*]] = arith.cmpf oge, %[[U]]
// CHECK: arith.select %[[KEEP]]
func.func @dropout(%x: !x, %seed: tensor<2xi32>, %step: tensor<1xi32>) -> !x {
  %d = heddle.dropout %x seed %seed step %step {rate = 0.5 : f32, stream = 7 : i32} : !x
  return %d : !x
}

// -----

heddle.variable @w weight : tensor<100x64xf32>
heddle.variable @grad.w gradient of @w as gradient : tensor<100x64xf32>
heddle.variable @adam.m.w optimizer_state of @w as first_moment : tensor<100x64xf32>
heddle.variable @adam.v.w optimizer_state of @w as second_moment : tensor<100x64xf32>

// Each result takes over the memory of the variable that it is written to. All operands are read before the first
// store.
// CHECK-LABEL: func.func @adam(
// CHECK: tile.launch @adam_100x64({{.*}}) grid [#tile.grid<"", 1, 2>, #tile.grid<"", 1, 25>, #tile.grid<"", 1, 1>] sizes [] reuse [0, 2, 3] :
// CHECK-LABEL: tile.func @adam_100x64(
// CHECK-COUNT-3: tile.store
// CHECK-NOT: tile.load
// CHECK: tile.return
func.func @adam(%rate: tensor<1xf32>) {
  %w = heddle.read @w : tensor<100x64xf32>
  %g = heddle.read @grad.w : tensor<100x64xf32>
  %m = heddle.read @adam.m.w : tensor<100x64xf32>
  %v = heddle.read @adam.v.w : tensor<100x64xf32>
  %one = heddle.fill 1.0 : f32 : tensor<1xf32>
  %w2, %m2, %v2 = heddle.adam %w, %g, %m, %v rate %rate corrections %one, %one scale %one
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32} : tensor<100x64xf32>
  heddle.write @w, %w2 : tensor<100x64xf32>
  heddle.write @adam.m.w, %m2 : tensor<100x64xf32>
  heddle.write @adam.v.w, %v2 : tensor<100x64xf32>
  return
}

// -----

// bf16 moments take over the memory of their variables too. One random number for each place, a 32-bit integer, rounds
// both.
// CHECK-LABEL: func.func @adam_rounding(
// CHECK: tile.launch @adam_100x64({{.*}}) grid {{.*}} sizes [] reuse [0, 2, 3] :
// CHECK-LABEL: tile.func @adam_100x64(
// CHECK: %[[STEP:.*]] = memref.load
// CHECK: arith.muli %[[STEP]], %c-1640531527_i32
// CHECK: %[[BITS:.*]] = arith.bitcast %{{.*}} : tensor<[[SHAPE:.*]]xf32> to tensor<[[SHAPE]]xi32>
// CHECK: %[[KEY:.*]] = tile.splat
// CHECK: arith.xori %[[BITS]], %[[KEY]]
// CHECK-COUNT-2: arith.truncf %{{.*}} : tensor<[[SHAPE]]xf32> to tensor<[[SHAPE]]xbf16>
// CHECK-COUNT-2: tile.store %{{.*}} : tensor<[[SHAPE]]xbf16>, memref<100x64xbf16>
// CHECK: tile.return
heddle.variable @w weight : tensor<100x64xf32>
heddle.variable @grad.w gradient of @w as gradient : tensor<100x64xf32>
heddle.variable @adam.m.w optimizer_state of @w as first_moment : tensor<100x64xbf16>
heddle.variable @adam.v.w optimizer_state of @w as second_moment : tensor<100x64xbf16>
func.func @adam_rounding(%rate: tensor<1xf32>, %step: tensor<1xi32>) {
  %w = heddle.read @w : tensor<100x64xf32>
  %g = heddle.read @grad.w : tensor<100x64xf32>
  %m = heddle.read @adam.m.w : tensor<100x64xbf16>
  %v = heddle.read @adam.v.w : tensor<100x64xbf16>
  %one = heddle.fill 1.0 : f32 : tensor<1xf32>
  %w2, %m2, %v2 = heddle.adam %w, %g, %m, %v rate %rate corrections %one, %one scale %one rounding %step
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32} : tensor<100x64xf32>, tensor<100x64xbf16>
  heddle.write @w, %w2 : tensor<100x64xf32>
  heddle.write @adam.m.w, %m2 : tensor<100x64xbf16>
  heddle.write @adam.v.w, %v2 : tensor<100x64xbf16>
  return
}

// -----

heddle.size @tokens max 2048
heddle.variable @grad.table gradient : tensor<100x64xf32>

// Rows without an index keep their values: the result takes the destination's memory. A workgroup owns a strip of
// columns, so that tokens with the same index are added one after another.
// CHECK-LABEL: func.func @scatter_add(
// CHECK: %[[G:.*]] = heddle.read @grad.table
// CHECK-NEXT: %[[R:.*]] = tile.launch @scatter_add_100x64(%[[G]], %arg0, %arg1) grid [#tile.grid<"", 1, 2>, #tile.grid<"", 1, 1>, #tile.grid<"", 1, 1>] sizes ["tokens"] reuse [0] {inplace} :
// CHECK-NEXT: heddle.write @grad.table, %[[R]]
// CHECK-LABEL: tile.func @scatter_add_100x64(
// CHECK-SAME: %{{.*}}: memref<100x64xf32>, %[[I:.*]]: memref<?x1xi32>, %[[ROWS:.*]]: memref<?x64xf32>, %[[TABLE:.*]]: memref<100x64xf32>, %[[N:.*]]: index)
// CHECK: scf.for %[[T:.*]] = %c0{{.*}} to %[[N]] step %c1{{.*}} {
// CHECK:   %[[WORD:.*]] = memref.load %[[I]][%[[T]], %c0{{.*}}]
// CHECK:   %[[TO:.*]] = arith.index_castui %[[WORD]]
// CHECK-DAG: %[[NEW:.*]] = tile.load %[[ROWS]][%[[T]], %[[C:.*]]] : {{.*}} -> tensor<1x32xf32>
// CHECK-DAG: %[[OLD:.*]] = tile.load %[[TABLE]][%[[TO]], %{{.*}}] : {{.*}} -> tensor<1x32xf32>
// CHECK:   %[[S:.*]] = arith.addf %[[OLD]], %[[NEW]]
// CHECK:   tile.store %[[S]], %[[TABLE]][%[[TO]], %[[C]]]
func.func @scatter_add(%i: tensor<?xi32, #heddle.dims<"tokens">>, %x: tensor<?x64xf32, #heddle.dims<"tokens">>) {
  %g = heddle.read @grad.table : tensor<100x64xf32>
  %r = heddle.scatter_add %g, %i, %x : tensor<100x64xf32>, tensor<?xi32, #heddle.dims<"tokens">>, tensor<?x64xf32, #heddle.dims<"tokens">>
  heddle.write @grad.table, %r : tensor<100x64xf32>
  return
}

// -----

!source = tensor<?x64xf32, #heddle.dims<"source_tokens">>
!target = tensor<?x64xf32, #heddle.dims<"target_tokens">>
heddle.size @source_tokens max 2048
heddle.size @target_tokens max 2048

// The same program for another size is the same kernel. Another function of the elements is another kernel, with a
// number in its name.
// CHECK-LABEL: func.func @shared(
// CHECK: tile.launch @mulf_Tx64(%arg0, %arg1) {{.*}}#tile.grid<"source_tokens", 4, 1>{{.*}} sizes ["source_tokens"]
// CHECK: tile.launch @mulf_Tx64(%arg2, %arg3) {{.*}}#tile.grid<"target_tokens", 4, 1>{{.*}} sizes ["target_tokens"]
// CHECK: tile.launch @mulf_Tx64_2(%arg0) {{.*}} sizes ["source_tokens"]
// CHECK: tile.func @mulf_Tx64(
// CHECK: tile.func @mulf_Tx64_2(
// CHECK-NOT: tile.func
func.func @shared(%s: !source, %s2: !source, %t: !target, %t2: !target) -> (!source, !target, !source) {
  %a = arith.mulf %s, %s2 : !source
  %b = arith.mulf %t, %t2 : !target
  %c = arith.mulf %s, %s : !source
  return %a, %b, %c : !source, !target, !source
}

// -----

// Three projections have three times the workgroups of one. The third axis of the grid decides which rows of the
// weights and which columns of the biases are read, and where the result is stored.
!x = tensor<?x24xf32, #heddle.dims<"n">>
!y = tensor<?x40xf32, #heddle.dims<"n">>
heddle.size @n max 100
// CHECK-LABEL: func.func @project(
// CHECK: tile.launch @project_Tx40({{.*}}) grid [#tile.grid<"n", 20, 1>, #tile.grid<"", 1, 1>, #tile.grid<"", 1, 3>]
// CHECK-LABEL: tile.func @project_Tx40(
// CHECK: %[[PART:.*]] = gpu.block_id z
// CHECK: %[[ROWS:.*]] = arith.muli %[[PART]], %c24
// CHECK: scf.for %[[K:.*]] = %c0
// CHECK: %[[SHIFTED:.*]] = arith.addi %[[K]], %[[ROWS]]
// CHECK: tile.load %arg0[%{{.*}}, %[[K]]]
// CHECK: tile.load %arg1[%[[SHIFTED]], %{{[^]]*}}]
// CHECK: tile.load %arg2[%c0, %{{[^]]*}}] columns
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[PART]], %c0
// CHECK: scf.if %[[FIRST]] {
// CHECK-NEXT: tile.store %[[Y:.*]], %arg3
// CHECK: %[[SECOND:.*]] = arith.cmpi eq, %[[PART]], %c1
// CHECK: scf.if %[[SECOND]] {
// CHECK-NEXT: tile.store %[[Y]], %arg4
// CHECK: tile.store %[[Y]], %arg5
func.func @project(%x: !x, %w: tensor<72x40xf32>, %b: tensor<120xf32>) -> (!y, !y, !y) {
  %y:3 = heddle.project %x, %w, %b : !x, tensor<72x40xf32>, tensor<120xf32> -> !y, !y, !y
  return %y#0, %y#1, %y#2 : !y, !y, !y
}

// -----

// The gradient of their input is one sum over all of them. A residual's gradient is its epilogue.
!x = tensor<?x24xf32, #heddle.dims<"n">>
!y = tensor<?x40xf32, #heddle.dims<"n">>
heddle.size @n max 100
// CHECK-LABEL: tile.func @project_grad_input_addf_Tx24(
// CHECK: %[[A:.*]] = scf.for
// CHECK: tile.load %arg1[
// CHECK: tile.load %arg0[
// CHECK: %[[B:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[A]])
// CHECK: tile.load %arg2[
// CHECK: tile.load %arg3[
// CHECK: arith.addf %[[B]]
// CHECK: tile.store %{{.*}}, %arg4
func.func @project_grad_input(%w: tensor<48x40xf32>, %a: !y, %b: !y, %r: !x) -> !x {
  %dx = heddle.project_grad_input %w, %a, %b : tensor<48x40xf32>, !y, !y -> !x
  %s = arith.addf %dx, %r : !x
  return %s : !x
}

// -----

// The gradients of their weights: a workgroup computes a tile of one of them. The first workgroups also compute the
// biases' gradients.
!x = tensor<?x24xf32, #heddle.dims<"n">>
!y = tensor<?x40xf32, #heddle.dims<"n">>
heddle.size @n max 100
// CHECK-LABEL: func.func @project_grad_weights(
// CHECK: grid [{{.*}}, #tile.grid<"", 1, 2>] sizes ["n"]
// CHECK-LABEL: tile.func @project_grad_weights_48x40(
// CHECK: scf.if
// CHECK: %[[SUMS:.*]]:2 = scf.for
// CHECK: tile.load %arg0
// CHECK: tile.load %arg1
// CHECK: scf.if
// CHECK-NEXT: tile.store %[[SUMS]]#1, %arg4[
// CHECK: tile.store %[[SUMS]]#0, %arg3[
// CHECK: scf.if
// CHECK: %[[OTHER:.*]]:2 = scf.for
// CHECK: tile.load %arg2
// CHECK: scf.if
// CHECK: tile.store %[[OTHER]]#1, %arg4[
// CHECK: tile.store %[[OTHER]]#0, %arg3[
func.func @project_grad_weights(%x: !x, %a: !y, %b: !y) -> (tensor<48x40xf32>, tensor<80xf32>) {
  %dw, %db = heddle.project_grad_weights %x, %a, %b : !x, !y, !y -> tensor<48x40xf32>, tensor<80xf32>
  return %dw, %db : tensor<48x40xf32>, tensor<80xf32>
}

// -----

!x = tensor<?x120xf32, #heddle.dims<"tokens">>
!column = tensor<?xf32, #heddle.dims<"tokens">>
!segments = tensor<?xi32, #heddle.dims<"groups">>
heddle.size @tokens max 2048
heddle.size @groups max 64
heddle.size @longest max 4 longest "lengths"

// A workgroup has a segment, and walks over it once for each of the k elements. The prologue is computed on the way.
// Each walk gets the previous maximum and its place. The lanes meet after each walk.
// CHECK-LABEL: func.func @top_k(
// CHECK: tile.launch @top_k_addf_Tx3(%arg0, %arg1, %arg2, %arg3) grid [#tile.grid<"groups", 1, 1>, #tile.grid<"", 1, 1>, #tile.grid<"", 1, 1>]
// CHECK-LABEL: tile.func @top_k_addf_Tx3(
// CHECK-SAME: mapping = #tile.mapping<columns>
// CHECK: %[[WALKS:.*]]:2 = scf.for %[[NUMBER:.*]] = %{{.*}} iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) -> (tensor<1x1xf32>, tensor<1x1xi32>)
// CHECK:   scf.for %[[AT:[^ ]*]] = {{.*}} -> (tensor<1x64xf32>, tensor<1x64xi32>)
// CHECK:     %[[ROW:.*]] = arith.divui %[[AT]], %c2
// CHECK:     %[[CHUNK:.*]] = arith.remui %[[AT]], %c2
// CHECK:     %[[COLUMN:.*]] = arith.muli %[[CHUNK]], %c64
// CHECK:     tile.load %{{.*}}[%[[ROW]], %[[COLUMN]]] columns(%c120{{.*}})
// CHECK:     arith.addf
// CHECK:   %[[LARGEST:.*]] = tile.reduce max %{{.*}} dim 1
// CHECK:   %[[PLACE:.*]] = tile.reduce min %{{.*}} dim 1
// CHECK:   tile.store %[[LARGEST]], %{{.*}}[%{{.*}}, %[[NUMBER]]] : tensor<1x1xf32>, memref<?x3xf32>
// CHECK:   arith.divui
// CHECK:   arith.remui
// CHECK:   scf.yield %[[LARGEST]], %[[PLACE]]
func.func @top_k(%x: !x, %o: !column, %starts: !segments, %lengths: !segments)
    -> (tensor<?x3xf32, #heddle.dims<"groups">>, tensor<?x3xi32, #heddle.dims<"groups">>, tensor<?x3xi32, #heddle.dims<"groups">>) {
  %wide = heddle.broadcast %o : !column to !x
  %sum = arith.addf %x, %wide : !x
  %v, %r, %c = heddle.top_k %sum segments(%starts, %lengths) {row_size = "longest"} : !x, !segments -> tensor<?x3xf32, #heddle.dims<"groups">>, tensor<?x3xi32, #heddle.dims<"groups">>
  return %v, %r, %c : tensor<?x3xf32, #heddle.dims<"groups">>, tensor<?x3xi32, #heddle.dims<"groups">>, tensor<?x3xi32, #heddle.dims<"groups">>
}
