// Sums that are not split: the sum has two uses, or the number of rows is unknown.
// RUN: heddle-opt %s --heddle-split-kernels=target=cuda:sm_80 | FileCheck %s

!x = tensor<?x8xf32, #heddle.dims<"n">>
heddle.size @n max 65536

// CHECK-NOT: heddle.partial_sums
func.func @twice(%x: !x) -> (tensor<8xf32>, tensor<8xf32>) {
  %r:2 = heddle.kernel "sum"(%x : !x) -> tensor<8xf32>, tensor<8xf32> {
  ^bb0(%a: !x):
    %0 = heddle.sum rows %a : !x -> tensor<8xf32>
    heddle.yield %0, %0 : tensor<8xf32>, tensor<8xf32>
  }
  return %r#0, %r#1 : tensor<8xf32>, tensor<8xf32>
}

func.func @unnamed(%x: tensor<?x8xf32>) -> tensor<8xf32> {
  %r = heddle.kernel "sum"(%x : tensor<?x8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    %0 = heddle.sum rows %a : tensor<?x8xf32> -> tensor<8xf32>
    heddle.yield %0 : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}
