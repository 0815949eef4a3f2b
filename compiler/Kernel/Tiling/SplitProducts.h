// Splits the K dimension of a matmul among workgroups.
#ifndef HEDDLE_COMPILER_KERNEL_TILING_SPLITPRODUCTS_H
#define HEDDLE_COMPILER_KERNEL_TILING_SPLITPRODUCTS_H

#include "compiler/Analysis/Profile/TargetProfile.h"
#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

/// Creates `heddle-split-products` for a profile, which must outlive the pass.
std::unique_ptr<Pass> createSplitProductsPass(const TargetProfile &profile);

} // namespace mlir::heddle

#endif
