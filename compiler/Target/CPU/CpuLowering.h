// The pass pipeline from kernels with layouts to LLVM functions.
#pragma once

#include "mlir/Pass/PassManager.h"

namespace mlir::heddle {

/// Adds the passes that turn each tile.func of a module into an llvm.func. Kernels are lowered in parallel. In
/// heddle-opt this is `--heddle-cpu-lowering`.
void buildCpuLowering(OpPassManager &passes);
void registerCpuLowering();

} // namespace mlir::heddle
