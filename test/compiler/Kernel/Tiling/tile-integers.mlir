// Processors that multiply integers: rows times packed integers in panels of a vector, and times a packed matrix that is transposed.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=cpu:x86-64-v4-vnni})' | FileCheck %s
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=cpu:x86-64-v3})' | FileCheck %s --check-prefix=PAIRS
// Other processors unpack the integers, and so does this one in panels of 64 columns.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=cpu:x86-64-v4})' | FileCheck %s --check-prefix=FLOAT

heddle.size @tokens max 6
heddle.size @many max 21

// CHECK: tile.func @matmul_Tx256(%arg0: memref<?x64xf32{{.*}}>, %arg1: memref<256x16xi32{{.*}}>, %arg2: memref<32x16xf32
// CHECK-DAG: %[[DIGITS:.*]] = tile.shared : memref<24x8xi32
// CHECK-DAG: %[[SCALES:.*]] = tile.shared : memref<6x2xf32
// CHECK-DAG: %[[STARTS:.*]] = tile.shared : memref<6x2xi32
// The rows are split once for all workgroups of a thread.
// CHECK: %[[CHANGED:.*]] = tile.changed %[[ROW:.*]]
// CHECK: scf.if %[[CHANGED]] {
// CHECK: scf.for %[[K:.*]] = %c0 to %c64 step %c32 {
// CHECK: %[[X:.*]] = tile.load %arg0[%[[ROW]], %[[K]]]
// CHECK: %[[BITS:.*]] = arith.bitcast %[[X]]
// CHECK: %[[MAGNITUDE:.*]] = arith.andi %[[BITS]]
// CHECK: tile.reduce max %[[MAGNITUDE]] dim 1
// CHECK: arith.divf
// CHECK: math.roundeven
// CHECK: %[[Q:.*]] = arith.fptosi
// CHECK: tile.store_digits %[[Q]], %[[DIGITS]][%{{.*}}] bits 8 packed 8
// CHECK: tile.reduce sum %[[Q]] dim 1
// The sums of a step, for one vector of columns.
// CHECK: scf.for %{{.*}} = %c0 to %c64 step %c32 iter_args
// CHECK-COUNT-8: memref.prefetch
// CHECK: %[[START:.*]] = tile.load %[[STARTS]]
// CHECK: %[[BEGIN:.*]] = tile.broadcast %[[START]]
// CHECK: %[[HIGH:.*]] = tile.load %[[DIGITS]][%{{.*}}, %c0] {any_padding} : {{.*}} -> tensor<6x8xi32>
// CHECK: %[[LOW:.*]] = tile.load %[[DIGITS]]
// CHECK: %[[WORDS:.*]] = tile.load %arg1{{.*}} -> tensor<8x16xi32>
// CHECK: %[[BIAS:.*]] = arith.constant dense<-2139062144> : tensor<8x16xi32>
// CHECK: %[[BYTES:.*]] = arith.xori %[[WORDS]], %[[BIAS]]
// CHECK: %[[A:.*]] = tile.dot %[[HIGH]], %[[BYTES]], %{{.*}} {integers = 8 : i64} : tensor<6x8xi32>, tensor<8x16xi32> -> tensor<6x16xi32>
// CHECK: %[[B:.*]] = arith.shli %[[A]]
// CHECK: %[[C:.*]] = arith.addi %[[B]], %[[BEGIN]]
// CHECK: tile.dot %[[LOW]], %[[BYTES]], %[[C]]
// CHECK: tile.load %[[SCALES]]
// CHECK: arith.sitofp
// FLOAT: tile.func @matmul_Tx256
// FLOAT-NOT: tile.store_digits
// FLOAT-NOT: tile.changed
func.func @panels(%x: tensor<?x64xf32, #heddle.dims<"tokens">>, %words: tensor<256x16xi32>, %scales: tensor<32x16xf32>) -> tensor<?x256xf32, #heddle.dims<"tokens">> {
  %w = heddle.dequantize %words scales(%scales) {bits = 8 : i64} : (tensor<256x16xi32>, tensor<32x16xf32>) -> tensor<64x256xf32>
  %0 = heddle.matmul %x, %w : tensor<?x64xf32, #heddle.dims<"tokens">>, tensor<64x256xf32> -> tensor<?x256xf32, #heddle.dims<"tokens">>
  return %0 : tensor<?x256xf32, #heddle.dims<"tokens">>
}

// Integers of 4 bits without signs: a row of words has two rows of bytes. Offsets multiply sums of the rows. Tiles have 8 of the 21 rows.
// CHECK: tile.func @matmul_Tx128(
// CHECK: %[[DIGITS:.*]] = tile.shared : memref<16x8xi32
// CHECK: tile.store_digits %{{.*}}, %[[DIGITS]][%{{.*}}] bits 8 packed 4
// CHECK: %[[WORDS:.*]] = tile.load %arg1{{.*}} -> tensor<1x16xi32>
// CHECK: %[[EVEN:.*]] = arith.andi %[[WORDS]]
// CHECK: %[[SHIFTED:.*]] = arith.shrui %[[WORDS]]
// CHECK: %[[ODD:.*]] = arith.andi %[[SHIFTED]]
// CHECK: tile.dot %{{.*}}, %[[EVEN]], %{{.*}} {integers = 8 : i64} : tensor<8x1xi32>, tensor<1x16xi32> -> tensor<8x16xi32>
// CHECK: tile.dot %{{.*}}, %[[ODD]],
func.func @nibbles(%x: tensor<?x32xf32, #heddle.dims<"many">>, %words: tensor<32x16xi32>, %scales: tensor<8x16xf32>, %offsets: tensor<8x16xf32>) -> tensor<?x128xf32, #heddle.dims<"many">> {
  %w = heddle.dequantize %words scales(%scales) offsets(%offsets) {bits = 4 : i64, is_unsigned} : (tensor<32x16xi32>, tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<32x128xf32>
  %0 = heddle.matmul %x, %w : tensor<?x32xf32, #heddle.dims<"many">>, tensor<32x128xf32> -> tensor<?x128xf32, #heddle.dims<"many">>
  return %0 : tensor<?x128xf32, #heddle.dims<"many">>
}

// Rows of a transposed matrix share words. They are turned, 16 rows at a time, and their scales are transposed.
// CHECK: tile.func @matmul_Tx576(
// CHECK: tile.changed %{{.*}}
// CHECK: tile.store_digits %{{.*}} bits 8 packed 8
// CHECK: scf.for %[[ROW:.*]] = %c0 to %c128 step %c16 {
// CHECK: tile.load %arg2{{.*}} {transposed} : memref<576x2xf32> -> tensor<16x16xf32>
// CHECK: scf.for %{{.*}} = %c0 to %c64 step %c32 iter_args
// The limit of rows is one of words.
// CHECK: %[[WORDS:.*]] = tile.load %arg1{{.*}} rows(%c72) : memref<72x64xi32> -> tensor<2x32xi32>
// CHECK: %[[UNSIGNED:.*]] = arith.xori %[[WORDS]]
// CHECK: %[[BYTES:.*]] = tile.turn_integers %[[UNSIGNED]] packed 4 bits 8 : tensor<2x32xi32> -> tensor<8x16xi32>
// CHECK: tile.dot %{{.*}}, %[[BYTES]], %{{.*}} {integers = 8 : i64} : tensor<6x8xi32>, tensor<8x16xi32> -> tensor<6x16xi32>
func.func @transposed(%x: tensor<?x64xf32, #heddle.dims<"tokens">>, %words: tensor<72x64xi32>, %scales: tensor<576x2xf32>) -> tensor<?x576xf32, #heddle.dims<"tokens">> {
  %w = heddle.dequantize %words scales(%scales) {bits = 4 : i64} : (tensor<72x64xi32>, tensor<576x2xf32>) -> tensor<576x64xf32>
  %0 = heddle.matmul %x, %w {transpose_rhs} : tensor<?x64xf32, #heddle.dims<"tokens">>, tensor<576x64xf32> -> tensor<?x576xf32, #heddle.dims<"tokens">>
  return %0 : tensor<?x576xf32, #heddle.dims<"tokens">>
}

// More than 8 rows: each 8 have workgroups of their own, and so have each 128 columns. A single call may have few of the rows.
// CHECK: tile.func @matmul_Tx512(
// CHECK-DAG: %[[BLOCK:.*]] = gpu.block_id{{ *}}y
// CHECK-DAG: %[[FIRST:.*]] = arith.muli %[[BLOCK]], %c8
// CHECK: tile.changed %[[FIRST]]
// CHECK: tile.load %arg0[%[[FIRST]], %{{.*}}] rows(%arg4) : {{.*}} -> tensor<8x32xf32>
// CHECK: tile.turn_integers
// CHECK: %[[END:.*]] = arith.addi %[[FIRST]], %c8
// CHECK: %[[LIMIT:.*]] = arith.minui %[[END]], %arg4
// CHECK: scf.for %[[ROW:.*]] = %[[FIRST]] to %[[LIMIT]] step
// CHECK: %[[IN_TILE:.*]] = arith.subi %[[ROW]], %[[FIRST]]
// CHECK: %[[SUMS:.*]] = tile.load %{{.*}}[%[[IN_TILE]], %c0]
// CHECK: tile.store %[[SUMS]], %arg3[%[[ROW]],
// FLOAT: tile.func @matmul_Tx512(
// FLOAT-NOT: tile.turn_integers
func.func @transposed_of_many_rows(%x: tensor<?x64xf32, #heddle.dims<"many">>, %words: tensor<64x64xi32>, %scales: tensor<512x2xf32>) -> tensor<?x512xf32, #heddle.dims<"many">> {
  %w = heddle.dequantize %words scales(%scales) {bits = 4 : i64} : (tensor<64x64xi32>, tensor<512x2xf32>) -> tensor<512x64xf32>
  %0 = heddle.matmul %x, %w {transpose_rhs} : tensor<?x64xf32, #heddle.dims<"many">>, tensor<512x64xf32> -> tensor<?x512xf32, #heddle.dims<"many">>
  return %0 : tensor<?x512xf32, #heddle.dims<"many">>
}

// A panel of 64 columns, for several targets.
// CHECK: tile.func @matmul_Tx192(
// CHECK-NOT: tile.store_digits
// CHECK: tile.return
func.func @wide(%x: tensor<?x64xf32, #heddle.dims<"tokens">>, %words: tensor<48x64xi32>, %scales: tensor<6x64xf32>) -> tensor<?x192xf32, #heddle.dims<"tokens">> {
  %w = heddle.dequantize %words scales(%scales) {bits = 8 : i64} : (tensor<48x64xi32>, tensor<6x64xf32>) -> tensor<64x192xf32>
  %0 = heddle.matmul %x, %w : tensor<?x64xf32, #heddle.dims<"tokens">>, tensor<64x192xf32> -> tensor<?x192xf32, #heddle.dims<"tokens">>
  return %0 : tensor<?x192xf32, #heddle.dims<"tokens">>
}

// AVX2 multiplies integers of 16 bits: panels of 8 columns, every other byte of a word in a tile.
// PAIRS: tile.func @matmul_Tx72(
// PAIRS: %[[DIGITS:.*]] = tile.shared : memref<12x16xi32
// PAIRS: tile.store_digits %{{.*}}, %[[DIGITS]][%{{.*}}] bits 16 packed 8
// A loop over parts of a step, so that LLVM keeps few integers at once.
// PAIRS: scf.for %{{.*}} = %c0 to %c64 step %c32 iter_args
// PAIRS: scf.for %[[PART:.*]] = %c0 to %c32 step %c8 iter_args
// PAIRS: %[[WORDS:.*]] = tile.load %arg1{{.*}} -> tensor<1x8xi32>
// PAIRS: %[[BYTES:.*]] = arith.xori %[[WORDS]]
// PAIRS: %[[MASK:.*]] = arith.constant dense<16711935> : tensor<1x8xi32>
// PAIRS: %[[EVEN:.*]] = arith.andi %[[BYTES]], %[[MASK]]
// PAIRS: %[[SHIFTED:.*]] = arith.shrui %[[BYTES]]
// PAIRS: %[[ODD:.*]] = arith.andi %[[SHIFTED]]
// PAIRS: tile.dot %{{.*}}, %[[EVEN]], %{{.*}} {integers = 16 : i64} : tensor<6x1xi32>, tensor<1x8xi32> -> tensor<6x8xi32>
// PAIRS: tile.dot %{{.*}}, %[[ODD]],
// CHECK: tile.func @matmul_Tx72(
// CHECK-NOT: tile.store_digits
// CHECK: tile.return
func.func @pairs(%x: tensor<?x64xf32, #heddle.dims<"tokens">>, %words: tensor<144x8xi32>, %scales: tensor<18x8xf32>) -> tensor<?x72xf32, #heddle.dims<"tokens">> {
  %w = heddle.dequantize %words scales(%scales) {bits = 8 : i64} : (tensor<144x8xi32>, tensor<18x8xf32>) -> tensor<64x72xf32>
  %0 = heddle.matmul %x, %w : tensor<?x64xf32, #heddle.dims<"tokens">>, tensor<64x72xf32> -> tensor<?x72xf32, #heddle.dims<"tokens">>
  return %0 : tensor<?x72xf32, #heddle.dims<"tokens">>
}
