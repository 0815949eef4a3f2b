// RUN: heddle-opt %s --heddle-fuse-cross-entropy=rows=8 --remarks-filter=fuse-cross-entropy 2>&1 | FileCheck %s

// A single condition has no rows that could be cut into chunks.
// CHECK: Function=condition | Reason="'arith.select' needs the logits, or what is as large, of all tokens at once or by their numbers"
// CHECK-LABEL: func.func @condition
// CHECK-NOT: heddle.slice
!x = tensor<?x4xf32, #heddle.dims<"n">>
!logits = tensor<?x6xf32, #heddle.dims<"n">>
!column = tensor<?xf32, #heddle.dims<"n">>
heddle.size @n max 20
func.func @condition(%c: i1, %x: !x, %w: tensor<6x4xf32>, %t: tensor<?xi32, #heddle.dims<"n">>) -> !column {
  %product = heddle.matmul %x, %w {transpose_rhs} : !x, tensor<6x4xf32> -> !logits
  %zeros = heddle.fill 0.0 : f32 : !logits
  %logits = arith.select %c, %product, %zeros : !logits
  %loss, %lse = heddle.cross_entropy %logits, %t {smoothing = 0.1 : f32} : !logits, tensor<?xi32, #heddle.dims<"n">> -> !column
  return %loss : !column
}
