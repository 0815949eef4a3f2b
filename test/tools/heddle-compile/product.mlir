// RUN: heddle-compile %s --compile-to=tile -o - | FileCheck %s

// CHECK: tile.launch @matmul_48x64
func.func @product(%a: tensor<48x40xf32> {heddle.name = "a"}, %b: tensor<40x64xf32> {heddle.name = "b"})
    -> (tensor<48x64xf32> {heddle.name = "c"}) {
  %c = heddle.matmul %a, %b : tensor<48x40xf32>, tensor<40x64xf32> -> tensor<48x64xf32>
  return %c : tensor<48x64xf32>
}
