// The kernels of matmuls.
#ifndef HEDDLE_COMPILER_KERNEL_TILING_MATMUL_MATRIXKERNELS_H
#define HEDDLE_COMPILER_KERNEL_TILING_MATMUL_MATRIXKERNELS_H

#include "mlir/IR/DialectRegistry.h"

namespace mlir::heddle {

/// Attach the models of Analysis/Kernels/KernelInterfaces.td to the dialects' ops.
void registerMatrixKernels(DialectRegistry &registry);

} // namespace mlir::heddle

#endif
