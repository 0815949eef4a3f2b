// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-assign-layouts{target=vulkan:nvidia}))' | FileCheck %s

!operands = memref<64x32xf16, strided<[40, 1]>, #gpu.address_space<workgroup>>

// Sums stay matrices through the loop and through a multiplication by a number. Lanes compute a function of them.
// CHECK-LABEL: tile.func @result
// CHECK: %[[SUMS:.*]] = scf.for {{.*}} -> (tensor<64x64xf32, #tile.cooperative<sum, side = 16, subgroups = 4>>)
// CHECK: %[[SCALED:.*]] = arith.mulf %[[SUMS]], %{{.*}} : tensor<64x64xf32, #tile.cooperative<sum
// CHECK: %[[DEALT:.*]] = tile.convert_layout %[[SCALED]] : tensor<64x64xf32, #tile.cooperative<sum, side = 16, subgroups = 4>> -> tensor<64x64xf32, #tile.simt<
// CHECK-NOT: tile.convert_layout
// CHECK: math.exp %[[DEALT]]
// CHECK: arith.addf %{{.*}}, %[[DEALT]]
tile.func @result(%c: memref<64x64xf32>, %n: index)
    attributes {workgroup = 128 : i64, mapping = #tile.mapping<tensor>, vector = 4 : i64} {
  %left = tile.shared : !operands
  %right = tile.shared : !operands
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %half = arith.constant dense<0.5> : tensor<64x64xf32>
  %sums = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> tensor<64x64xf32> {
    %x = tile.load %left[%c0, %c0] {any_padding} : !operands -> tensor<64x32xf16>
    %y = tile.load %right[%c0, %c0] {any_padding} : !operands -> tensor<64x32xf16>
    %d = tile.dot %x, %y, %s {transpose_rhs} : tensor<64x32xf16>, tensor<64x32xf16> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  %scaled = arith.mulf %sums, %half : tensor<64x64xf32>
  %e = math.exp %scaled : tensor<64x64xf32>
  %r = arith.addf %e, %scaled : tensor<64x64xf32>
  tile.store %r, %c[%c0, %c0] : tensor<64x64xf32>, memref<64x64xf32>
  tile.return
}

// Operands that lanes computed, or that come from device memory, become matrices through shared memory.
// CHECK-LABEL: tile.func @operands
// CHECK: %[[ROUNDED:.*]] = arith.truncf %{{.*}} : tensor<64x32xf32, #tile.simt
// CHECK: %[[LEFT:.*]] = tile.convert_layout %[[ROUNDED]] : {{.*}} -> tensor<64x32xf16, #tile.cooperative<left, side = 16, subgroups = 4>>
// CHECK: %[[LOADED:.*]] = tile.load %arg1{{.*}} -> tensor<64x32xf16, #tile.simt
// CHECK: %[[RIGHT:.*]] = tile.convert_layout %[[LOADED]] : {{.*}} -> tensor<64x32xf16, #tile.cooperative<right, side = 16, subgroups = 4>>
// CHECK: tile.dot %[[LEFT]], %[[RIGHT]]
tile.func @operands(%a: memref<64x32xf32>, %b: memref<64x32xf16>, %c: memref<64x64xf32>)
    attributes {workgroup = 128 : i64, mapping = #tile.mapping<tensor>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %x = tile.load %a[%c0, %c0] : memref<64x32xf32> -> tensor<64x32xf32>
  %rounded = arith.truncf %x : tensor<64x32xf32> to tensor<64x32xf16>
  %y = tile.load %b[%c0, %c0] : memref<64x32xf16> -> tensor<64x32xf16>
  %d = tile.dot %rounded, %y, %zero {transpose_rhs} : tensor<64x32xf16>, tensor<64x32xf16> -> tensor<64x64xf32>
  tile.store %d, %c[%c0, %c0] : tensor<64x64xf32>, memref<64x64xf32>
  tile.return
}

// A repeated number is no matrix, and neither is a row, so lanes multiply by them.
// CHECK-LABEL: tile.func @number
// CHECK: %[[DEALT:.*]] = tile.convert_layout %{{.*}} : tensor<64x64xf32, #tile.cooperative<sum{{.*}} -> tensor<64x64xf32, #tile.simt
// CHECK: %[[ONES:.*]] = tile.broadcast %{{.*}} : tensor<1x1xf32, #tile.simt
// CHECK: %[[SCALED:.*]] = arith.mulf %[[DEALT]], %[[ONES]] : tensor<64x64xf32, #tile.simt
// CHECK: %[[ROWS:.*]] = tile.broadcast %{{.*}} : tensor<1x64xf32, #tile.simt
// CHECK: arith.mulf %[[DEALT]], %[[ROWS]] : tensor<64x64xf32, #tile.simt
tile.func @number(%a: memref<64x32xf16>, %b: memref<64x32xf16>, %c: memref<64x64xf32>, %d: memref<64x64xf32>)
    attributes {workgroup = 128 : i64, mapping = #tile.mapping<tensor>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %x = tile.load %a[%c0, %c0] : memref<64x32xf16> -> tensor<64x32xf16>
  %y = tile.load %b[%c0, %c0] : memref<64x32xf16> -> tensor<64x32xf16>
  %sums = tile.dot %x, %y, %zero {transpose_rhs} : tensor<64x32xf16>, tensor<64x32xf16> -> tensor<64x64xf32>
  %one = arith.constant dense<1.0> : tensor<1x1xf32>
  %ones = tile.broadcast %one : tensor<1x1xf32> -> tensor<64x64xf32>
  %scaled = arith.mulf %sums, %ones : tensor<64x64xf32>
  tile.store %scaled, %c[%c0, %c0] : tensor<64x64xf32>, memref<64x64xf32>
  %row = arith.constant dense<2.0> : tensor<1x64xf32>
  %rows = tile.broadcast %row : tensor<1x64xf32> -> tensor<64x64xf32>
  %doubled = arith.mulf %sums, %rows : tensor<64x64xf32>
  tile.store %doubled, %d[%c0, %c0] : tensor<64x64xf32>, memref<64x64xf32>
  tile.return
}
