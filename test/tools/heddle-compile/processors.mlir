// The number of a GPU's processors decides whether a matmul has too few tiles and is split, or has so many that
// producers are worth it.
// RUN: heddle-compile %s --target=cuda:sm_90a --precision=bf16 --compile-to=tile -o - | FileCheck %s
// RUN: heddle-compile %s --target=cuda:sm_90a --precision=bf16 --compile-to=tile --processors=16 -o - | FileCheck %s --check-prefix=FEW
// RUN: heddle-compile %s --target=cuda:sm_90a --precision=bf16 --compile-to=layout -o - | FileCheck %s --check-prefix=PRODUCERS
// RUN: heddle-compile %s --target=cuda:sm_90a --precision=bf16 --compile-to=layout --no-producers -o - | FileCheck %s --check-prefix=NONE
// RUN: %python %S/exit_code.py 2 heddle-compile %s --target=cuda:sm_90a --processors=0 -o %t.heddle 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: %python %S/exit_code.py 2 heddle-compile %s --target=vulkan:portable --processors=64 -o %t.heddle 2>&1 | FileCheck %s --check-prefix=ZERO

// CHECK: tile.func @partial_matmul
// FEW-NOT: tile.func @partial_matmul
// PRODUCERS: tile.func @matmul_Tx4096{{.*}} producers = 128
// NONE: tile.func @matmul_Tx4096
// NONE-NOT: producers
// ZERO: --processors: expects a target with tensor cores and a number from 1 to 1024

heddle.size @tokens max 16384
!x = tensor<?x1024xf32, #heddle.dims<"tokens">>
func.func @gradient(%x: !x {heddle.name = "x"}, %g: !x {heddle.name = "g"}) -> (tensor<1024x1024xf32> {heddle.name = "y"}) {
  %y = heddle.matmul %x, %g {transpose_lhs} : !x, !x -> tensor<1024x1024xf32>
  return %y : tensor<1024x1024xf32>
}
!y = tensor<?x4096xf32, #heddle.dims<"tokens">>
func.func @product(%x: !x {heddle.name = "x"}, %w: tensor<1024x4096xf32> {heddle.name = "w"}) -> (!y {heddle.name = "y"}) {
  %y = heddle.matmul %x, %w : !x, tensor<1024x4096xf32> -> !y
  return %y : !y
}
