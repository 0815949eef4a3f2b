// Phase `fuse`: the graph is cut into kernels.
#ifndef HEDDLE_COMPILER_FUSION_FUSEKERNELS_H
#define HEDDLE_COMPILER_FUSION_FUSEKERNELS_H

#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

/// `heddle-fuse-kernels`: wraps all tensor work of each entry in heddle.kernel ops.
std::unique_ptr<Pass> createFuseKernelsPass(bool fuse = true);
void registerFuseKernelsPass();

} // namespace mlir::heddle

#endif
