// The kernels of attention: fused, and with its scores in memory.
#pragma once

#include "mlir/IR/DialectRegistry.h"

namespace mlir::heddle {

/// Attach the models of Analysis/Kernels/KernelInterfaces.td to the dialects' ops.
void registerAttentionKernels(DialectRegistry &registry);
void registerMergePartsKernel(DialectRegistry &registry);
void registerScoreKernels(DialectRegistry &registry);

} // namespace mlir::heddle
