// The kernels of matmuls.
#pragma once

#include "mlir/IR/DialectRegistry.h"

namespace mlir::heddle {

/// Attach the models of Analysis/Kernels/KernelInterfaces.td to the dialects' ops.
void registerMatrixKernels(DialectRegistry &registry);

} // namespace mlir::heddle
