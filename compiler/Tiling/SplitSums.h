// Shares the rows of a sum out among workgroups. Flag: heddle-split-sums.
#ifndef HEDDLE_COMPILER_TILING_SPLITSUMS_H
#define HEDDLE_COMPILER_TILING_SPLITSUMS_H

#include "compiler/Target/TargetProfile.h"
#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

/// Makes two kernels of one that sums many rows where its columns alone keep too little of the target busy: the first
/// one's sums are partial, and the second adds them up. Runs after `fuse-kernels`;
/// kernels whose costs were counted have them counted anew.
std::unique_ptr<Pass> createSplitSumsPass(const TargetProfile &profile);
void registerSplitSumsPass();

} // namespace mlir::heddle

#endif
