// Training by several ranks, each of which has a part of the batch. Flag: heddle-distribute.
#ifndef HEDDLE_COMPILER_FUSION_DISTRIBUTE_H
#define HEDDLE_COMPILER_FUSION_DISTRIBUTE_H

#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

/// Sums the gradients of all ranks in the entries that several ranks run: between the backward pass and whatever the optimizer
/// does with a gradient, its norm among that. Gradients travel in buckets, in the order in which the backward pass makes them. Runs
/// after `fuse-updates`, as the gradients of all biases and gains are one tensor then.
/// With `shardsOptimizer` each rank keeps a part of the optimizer's state and updates a part of the weights, which ranks then hand on to
/// each other ("ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", stage 1). A rank gets the sums of those rows of
/// the gradients, too; where the optimizer uses more of a bucket's gradient (for a norm, say), it gets them all.
std::unique_ptr<Pass> createDistributePass(bool shardsOptimizer = false);
void registerDistributePass();

} // namespace mlir::heddle

#endif
