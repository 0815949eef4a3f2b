// Weights that ops other than matmuls and embeddings read stay as they are, as do weights that are written, weights
// with state, and storage with its views.
// RUN: heddle-opt %s --heddle-quantize-weights=weights=int8 | FileCheck %s

// CHECK-NOT: xi32>
module {
  heddle.variable @written weight : tensor<8x8xf32>
  heddle.variable @trained weight : tensor<8x8xf32>
  heddle.variable @adam.m.trained optimizer_state of @trained as first_moment : tensor<8x8xf32>
  heddle.variable @both weight : tensor<16x8xf32>
  heddle.variable @view weight : tensor<8x8xf32> in @both from 0
  func.func @f(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %0 = heddle.read @written : tensor<8x8xf32>
    %1 = heddle.matmul %x, %0 : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
    heddle.write @written, %1 : tensor<8x8xf32>
    %2 = heddle.read @trained : tensor<8x8xf32>
    %3 = heddle.matmul %1, %2 : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
    %4 = heddle.read @view : tensor<8x8xf32>
    %5 = heddle.matmul %3, %4 : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
    return %5 : tensor<8x8xf32>
  }
  module @inner {
    heddle.variable @w weight : tensor<8x8xf32>
    func.func @g(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
      %0 = heddle.read @w : tensor<8x8xf32>
      %1 = heddle.matmul %x, %0 : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
      return %1 : tensor<8x8xf32>
    }
  }
}
