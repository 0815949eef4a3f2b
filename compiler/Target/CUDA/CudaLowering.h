// The pass pipeline from kernels with layouts to NVVM code.
#pragma once

#include "mlir/Pass/PassManager.h"

namespace mlir::heddle {

/// Adds the passes that turn each tile.func of a module into a gpu.module for the architecture `chip` ("sm_90a").
/// Kernels are lowered in parallel. In heddle-opt this is `--heddle-cuda-lowering`, for sm_80.
void buildCudaLowering(OpPassManager &passes, StringRef chip);
void registerCudaLowering();

} // namespace mlir::heddle
