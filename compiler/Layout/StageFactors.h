// The pass that copies the factors of products to shared memory ahead of their use.
#ifndef HEDDLE_COMPILER_LAYOUT_STAGEFACTORS_H
#define HEDDLE_COMPILER_LAYOUT_STAGEFACTORS_H

#include "compiler/Target/TargetProfile.h"
#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

/// `heddle-stage-factors`, on tile.func before its layouts: tiles that a loop of a kernel on fragments loads for a
/// tile.dot come through a ring of tiles in shared memory, which copies fill ahead of their use. So does a column of
/// numbers that the loop loads as a row beside them. Tiles that are the same in all iterations are copied once.
std::unique_ptr<Pass> createStageFactorsPass(const TargetProfile &profile);
void registerStageFactorsPass();

} // namespace mlir::heddle

#endif
