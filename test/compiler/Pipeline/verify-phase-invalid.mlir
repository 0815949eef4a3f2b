// A phase ends with a verification of the module, because heddle-compile runs MLIR's verifier after each pass of the first phases only.
// RUN: not heddle-opt %s --mlir-very-unsafe-disable-verifier-on-parsing --verify-each=false --pass-pipeline='builtin.module(heddle-verify-phase{phase=import})' 2>&1 | FileCheck %s

// CHECK: error: 'arith.addf' op requires the same type for all operands and results
func.func @sum(%x: tensor<8xf32>, %y: tensor<4xf32>) -> tensor<8xf32> {
  %z = "arith.addf"(%x, %y) : (tensor<8xf32>, tensor<4xf32>) -> tensor<8xf32>
  return %z : tensor<8xf32>
}
