// Drivers unroll loops whose number of iterations they know. Loops with many iterations or a long body must not be
// unrolled: AMD's compiler spilled the logits of three iterations of a walk over 49,152 columns.
// RUN: heddle-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-tile{target=vulkan:amd},tile.func(heddle-assign-layouts{target=vulkan:amd}),heddle-vulkan-lowering)' | FileCheck %s

!logits = tensor<?x49152xf32, #heddle.dims<"rows">>
!numbers = tensor<?xf32, #heddle.dims<"rows">>
!indices = tensor<?xi32, #heddle.dims<"rows">>
heddle.size @rows max 64

// The walk for the largest logit, and a walk for each two bits of a cutoff. The other walks and the searches have a
// number of iterations that depends on the row.
// CHECK-LABEL: spirv.module @draw_T
// CHECK: spirv.mlir.loop control(DontUnroll) -> vector<4xi32>, vector<4xi32>, vector<4xi32>
// CHECK: spirv.mlir.loop -> i32, i32
// CHECK: spirv.mlir.loop control(DontUnroll) -> vector<4xf32>, vector<4xf32>, vector<4xf32>
// CHECK: spirv.mlir.loop -> vector<4xf32>
// CHECK: spirv.mlir.loop -> i32, i32
// CHECK: spirv.mlir.loop control(DontUnroll) -> vector<4xf32>, vector<4xf32>, vector<4xf32>
// CHECK: spirv.mlir.loop -> vector<4xf32>, vector<4xi32>
func.func @draw(%x: !logits, %t: !numbers, %k: !indices, %p: !numbers, %low: !indices, %high: !indices) -> !indices {
  %token, %cutoff = heddle.draw %x, %t, %k, %p key(%low, %high) : !logits, !numbers, !indices
  return %token : !indices
}

// -----

// CHECK-LABEL: spirv.module @short
// CHECK: spirv.mlir.loop -> f32
// CHECK: spirv.mlir.loop control(DontUnroll) -> f32
tile.func @short(%a: memref<?x9xf32>) attributes {workgroup = 64 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c9 = arith.constant 9 : index
  %zero = arith.constant 0.0 : f32
  %eight = scf.for %i = %c0 to %c8 step %c1 iter_args(%sum = %zero) -> f32 {
    %x = memref.load %a[%c0, %i] : memref<?x9xf32>
    %next = arith.addf %sum, %x : f32
    scf.yield %next : f32
  }
  %nine = scf.for %i = %c0 to %c9 step %c1 iter_args(%sum = %eight) -> f32 {
    %x = memref.load %a[%c1, %i] : memref<?x9xf32>
    %next = arith.addf %sum, %x : f32
    scf.yield %next : f32
  }
  memref.store %nine, %a[%c0, %c0] : memref<?x9xf32>
  tile.return
}
