// The pass that copies the factors of products to shared memory ahead of their use.
#ifndef HEDDLE_COMPILER_LAYOUT_STAGEFACTORS_H
#define HEDDLE_COMPILER_LAYOUT_STAGEFACTORS_H

#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

/// `heddle-stage-factors`, on tile.func before its layouts: tiles that a loop of a kernel on fragments loads for a
/// tile.dot come through a ring of `stages` tiles in shared memory, which copies fill `stages` - 1 iterations ahead.
std::unique_ptr<Pass> createStageFactorsPass(int64_t stages);
void registerStageFactorsPass();

} // namespace mlir::heddle

#endif
