// Shares the contracted dimension of a product out among workgroups. Flag: heddle-split-products.
#ifndef HEDDLE_COMPILER_TILING_SPLITPRODUCTS_H
#define HEDDLE_COMPILER_TILING_SPLITPRODUCTS_H

#include "compiler/Target/TargetProfile.h"
#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

/// Makes two kernels of one whose product, on tensor cores, has too few tiles for the target's processors: the first
/// one's products are partial, and the second adds them up. Runs after `fuse-kernels`; kernels whose costs were counted
/// have them counted anew.
std::unique_ptr<Pass> createSplitProductsPass(const TargetProfile &profile);
void registerSplitProductsPass();

} // namespace mlir::heddle

#endif
