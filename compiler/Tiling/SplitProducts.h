// Shares the contracted dimension of a product out among workgroups.
#ifndef HEDDLE_COMPILER_TILING_SPLITPRODUCTS_H
#define HEDDLE_COMPILER_TILING_SPLITPRODUCTS_H

#include "compiler/Target/TargetProfile.h"
#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

/// `heddle-split-products` for a profile, which outlives the pass.
std::unique_ptr<Pass> createSplitProductsPass(const TargetProfile &profile);

} // namespace mlir::heddle

#endif
