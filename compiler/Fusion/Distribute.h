// Training by several ranks, each of which has a part of the batch. Flag: heddle-distribute.
#ifndef HEDDLE_COMPILER_FUSION_DISTRIBUTE_H
#define HEDDLE_COMPILER_FUSION_DISTRIBUTE_H

#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

/// Sums the gradients of all ranks in the entries that several ranks run: between the backward pass and whatever the optimizer
/// does with a gradient, its norm among that. Gradients travel in buckets, in the order in which the backward pass makes them. Runs
/// after `fuse-updates`, as the gradients of all biases and gains are one tensor then.
std::unique_ptr<Pass> createDistributePass();
void registerDistributePass();

} // namespace mlir::heddle

#endif
