// Splits the rows of a sum among workgroups.
#ifndef HEDDLE_COMPILER_KERNEL_TILING_SPLITSUMS_H
#define HEDDLE_COMPILER_KERNEL_TILING_SPLITSUMS_H

#include "compiler/Analysis/Profile/TargetProfile.h"
#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

/// Creates `heddle-split-sums` for a profile, which must outlive the pass.
std::unique_ptr<Pass> createSplitSumsPass(const TargetProfile &profile);

} // namespace mlir::heddle

#endif
