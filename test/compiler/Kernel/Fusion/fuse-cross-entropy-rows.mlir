// RUN: heddle-opt %s --heddle-fuse-cross-entropy --split-input-file | FileCheck %s
// RUN: heddle-opt %s --heddle-fuse-cross-entropy=logit-bytes=2 --split-input-file | FileCheck %s --check-prefix=HALF
// RUN: heddle-opt %s --heddle-fuse-cross-entropy=memory=5368709120 --split-input-file | FileCheck %s --check-prefix=MEMORY
// RUN: not heddle-opt %s --heddle-fuse-cross-entropy=rows=4 --split-input-file 2>&1 | FileCheck %s --check-prefix=MOST
// MOST: error: fuse-cross-entropy: rows = 4 cuts the 16777216 tokens of 'n' into 4194304 chunks, and there are at most 4096; give more rows

// The number of rows of a chunk. With few classes, logits are no larger than the matmul's input, however many rows they
// have.
!x = tensor<?x4xf32, #heddle.dims<"n">>
!logits = tensor<?x2xf32, #heddle.dims<"n">>
heddle.size @n max 16777216
// CHECK-LABEL: func.func @two_classes
// CHECK-NOT:     heddle.slice
// CHECK:         return
func.func @two_classes(%x: !x, %w: tensor<2x4xf32>, %t: tensor<?xi32, #heddle.dims<"n">>) -> tensor<?xf32, #heddle.dims<"n">> {
  %logits = heddle.matmul %x, %w {transpose_rhs} : !x, tensor<2x4xf32> -> !logits
  %loss, %lse = heddle.cross_entropy %logits, %t {smoothing = 0.1 : f32} : !logits, tensor<?xi32, #heddle.dims<"n">> -> tensor<?xf32, #heddle.dims<"n">>
  return %loss : tensor<?xf32, #heddle.dims<"n">>
}

// -----

// Logits of 10 MB stay whole.
!x = tensor<?x64xf32, #heddle.dims<"n">>
!logits = tensor<?x1000xf32, #heddle.dims<"n">>
heddle.size @n max 2500
// CHECK-LABEL: func.func @small
// CHECK-NOT:     heddle.slice
// CHECK:         return
func.func @small(%x: !x, %w: tensor<1000x64xf32>, %t: tensor<?xi32, #heddle.dims<"n">>) -> tensor<?xf32, #heddle.dims<"n">> {
  %logits = heddle.matmul %x, %w {transpose_rhs} : !x, tensor<1000x64xf32> -> !logits
  %loss, %lse = heddle.cross_entropy %logits, %t {smoothing = 0.1 : f32} : !logits, tensor<?xi32, #heddle.dims<"n">> -> tensor<?xf32, #heddle.dims<"n">>
  return %loss : tensor<?xf32, #heddle.dims<"n">>
}

// -----

// A large vocabulary: 303 MB in two chunks of twice as many rows as the transformation has inputs. A device with 5 GiB
// may have 160 MiB of logits at once.
!x = tensor<?x512xf32, #heddle.dims<"n">>
!logits = tensor<?x37000xf32, #heddle.dims<"n">>
// CHECK: heddle.size @n_1024_at_0 max 1024 of @n from 0
// CHECK: heddle.size @n_1024_at_1024 max 1024 of @n from 1024
// MEMORY: heddle.size @n_1024_at_1024 max 1024 of @n from 1024
heddle.size @n max 2048
func.func @base(%x: !x, %w: tensor<37000x512xf32>, %t: tensor<?xi32, #heddle.dims<"n">>) -> tensor<?xf32, #heddle.dims<"n">> {
  %logits = heddle.matmul %x, %w {transpose_rhs} : !x, tensor<37000x512xf32> -> !logits
  %loss, %lse = heddle.cross_entropy %logits, %t {smoothing = 0.1 : f32} : !logits, tensor<?xi32, #heddle.dims<"n">> -> tensor<?xf32, #heddle.dims<"n">>
  return %loss : tensor<?xf32, #heddle.dims<"n">>
}

// -----

// The largest possible batch: 64 chunks, not more.
!x = tensor<?x4xf32, #heddle.dims<"n">>
!logits = tensor<?x1000xf32, #heddle.dims<"n">>
// CHECK: heddle.size @n_262144_at_16515072 max 262144 of @n from 16515072
heddle.size @n max 16777216
// CHECK-COUNT-64: heddle.cross_entropy
// CHECK-NOT:      heddle.cross_entropy
func.func @largest(%x: !x, %w: tensor<1000x4xf32>, %t: tensor<?xi32, #heddle.dims<"n">>) -> tensor<?xf32, #heddle.dims<"n">> {
  %logits = heddle.matmul %x, %w {transpose_rhs} : !x, tensor<1000x4xf32> -> !logits
  %loss, %lse = heddle.cross_entropy %logits, %t {smoothing = 0.1 : f32} : !logits, tensor<?xi32, #heddle.dims<"n">> -> tensor<?xf32, #heddle.dims<"n">>
  return %loss : tensor<?xf32, #heddle.dims<"n">>
}

// -----

// If logits are in 16 bits, a chunk has twice as many rows in the same memory; but not if another op makes the logits
// of the matmul, which stay in 32 bits.
!x = tensor<?x512xf32, #heddle.dims<"n">>
!logits = tensor<?x37000xf32, #heddle.dims<"n">>
!loss = tensor<?xf32, #heddle.dims<"n">>
// CHECK: heddle.size @n_1024_at_7168 max 1024 of @n from 7168
// CHECK-NOT: heddle.size @n_2048_at
// HALF: heddle.size @n_2048_at_6144 max 2048 of @n from 6144
// HALF: heddle.size @m_1024_at_7168 max 1024 of @m from 7168
// MEMORY: heddle.size @n_1152_at_6912 max 1152 of @n from 6912
heddle.size @n max 8192
heddle.size @m max 8192
func.func @half(%x: !x, %w: tensor<37000x512xf32>, %t: tensor<?xi32, #heddle.dims<"n">>) -> !loss {
  %logits = heddle.matmul %x, %w {transpose_rhs} : !x, tensor<37000x512xf32> -> !logits
  %loss, %lse = heddle.cross_entropy %logits, %t {smoothing = 0.1 : f32} : !logits, tensor<?xi32, #heddle.dims<"n">> -> !loss
  return %loss : !loss
}
func.func @capped(%x: tensor<?x512xf32, #heddle.dims<"m">>, %w: tensor<37000x512xf32>, %t: tensor<?xi32, #heddle.dims<"m">>)
    -> tensor<?xf32, #heddle.dims<"m">> {
  %product = heddle.matmul %x, %w {transpose_rhs}
    : tensor<?x512xf32, #heddle.dims<"m">>, tensor<37000x512xf32> -> tensor<?x37000xf32, #heddle.dims<"m">>
  %logits = math.tanh %product : tensor<?x37000xf32, #heddle.dims<"m">>
  %loss, %lse = heddle.cross_entropy %logits, %t {smoothing = 0.1 : f32}
    : tensor<?x37000xf32, #heddle.dims<"m">>, tensor<?xi32, #heddle.dims<"m">> -> tensor<?xf32, #heddle.dims<"m">>
  return %loss : tensor<?xf32, #heddle.dims<"m">>
}

// -----

// Logits of 100 MB take little of 5 GiB, and stay whole.
!x = tensor<?x64xf32, #heddle.dims<"n">>
!logits = tensor<?x10000xf32, #heddle.dims<"n">>
heddle.size @n max 2500
// CHECK-LABEL: func.func @much_memory
// CHECK:         heddle.slice
// MEMORY-LABEL: func.func @much_memory
// MEMORY-NOT:     heddle.slice
// MEMORY:         return
func.func @much_memory(%x: !x, %w: tensor<10000x64xf32>, %t: tensor<?xi32, #heddle.dims<"n">>) -> tensor<?xf32, #heddle.dims<"n">> {
  %logits = heddle.matmul %x, %w {transpose_rhs} : !x, tensor<10000x64xf32> -> !logits
  %loss, %lse = heddle.cross_entropy %logits, %t {smoothing = 0.1 : f32} : !logits, tensor<?xi32, #heddle.dims<"n">> -> tensor<?xf32, #heddle.dims<"n">>
  return %loss : tensor<?xf32, #heddle.dims<"n">>
}
