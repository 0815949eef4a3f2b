// Makes one update of those of all biases and gains. Flag: heddle-fuse-updates.
#ifndef HEDDLE_COMPILER_FUSION_FUSEUPDATES_H
#define HEDDLE_COMPILER_FUSION_FUSEUPDATES_H

#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

/// Stores all vectors among the weights one behind the other, their moments and gradients likewise, and makes one
/// `heddle.adam` of their updates. Runs after `differentiate`.
std::unique_ptr<Pass> createFuseUpdatesPass();
void registerFuseUpdatesPass();

} // namespace mlir::heddle

#endif
