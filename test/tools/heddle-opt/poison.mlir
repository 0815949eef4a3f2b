// The printer's form of undefined values, which MLIR's passes make, can be parsed again.
// RUN: heddle-opt %s --mem2reg | heddle-opt | FileCheck %s

// CHECK: ub.poison : f32
func.func @unwritten() -> f32 {
  %place = memref.alloca() : memref<f32>
  %value = memref.load %place[] : memref<f32>
  return %value : f32
}
