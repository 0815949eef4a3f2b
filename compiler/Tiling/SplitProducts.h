// Splits the K dimension of a matmul among workgroups.
#ifndef HEDDLE_COMPILER_TILING_SPLITPRODUCTS_H
#define HEDDLE_COMPILER_TILING_SPLITPRODUCTS_H

#include "compiler/Target/TargetProfile.h"
#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

/// Creates `heddle-split-products` for a profile, which must outlive the pass.
std::unique_ptr<Pass> createSplitProductsPass(const TargetProfile &profile);

} // namespace mlir::heddle

#endif
