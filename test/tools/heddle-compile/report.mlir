// The launches, operations and memory traffic of an entry at its maxima: 64 rows of 16 numbers times a 16 x 8 matrix.
// RUN: heddle-compile %s -o %t.heddle --report=%t.json | FileCheck %s
// RUN: FileCheck --check-prefix=JSON %s < %t.json
// RUN: heddle-inspect %t.heddle --json | FileCheck --check-prefix=INSPECT %s

// CHECK: twice: 2 launches of 2 kernels, 0.00 GFLOP, 8.5 KiB read and written
// JSON:      "target": "vulkan:software",
// JSON-NEXT: "entry": "twice",
// JSON-NEXT: "launches": 2,
// JSON-NEXT: "barriers": 1,
// JSON-NEXT: "kernels": 2,
// JSON-NEXT: "flops": 16896,
// JSON-NEXT: "model_flops": 16384,
// JSON-NEXT: "bytes": 8736,
// JSON-NEXT: "arena_bytes": {{[0-9]+}}
// JSON:      "order": [
// JSON-NEXT: {
// JSON-NEXT: "kernel": "matmul_Tx8",
// JSON-NEXT: "flops": 16384,
// JSON-NEXT: "bytes": 6656
// JSON-NEXT: },
// JSON-NEXT: {
// JSON-NEXT: "kernel": "sum_8",
// INSPECT: "flops": "256*n",
// INSPECT-NEXT: "model_flops": "256*n",
// INSPECT-NEXT: "bytes": "96*n + 512"
heddle.size @n max 64
#n = #heddle.dims<"n">
func.func @twice(%x: tensor<?x16xf32, #n> {heddle.name = "x"}, %w: tensor<16x8xf32> {heddle.name = "w"})
    -> (tensor<?x8xf32, #n> {heddle.name = "y"}, tensor<8xf32> {heddle.name = "sum"}) {
  %y = heddle.matmul %x, %w : tensor<?x16xf32, #n>, tensor<16x8xf32> -> tensor<?x8xf32, #n>
  %sum = heddle.sum rows %y : tensor<?x8xf32, #n> -> tensor<8xf32>
  return %y, %sum : tensor<?x8xf32, #n>, tensor<8xf32>
}
