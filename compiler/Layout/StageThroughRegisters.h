// The pass that brings the factors of products on cooperative matrices to shared memory.
#ifndef HEDDLE_COMPILER_LAYOUT_STAGETHROUGHREGISTERS_H
#define HEDDLE_COMPILER_LAYOUT_STAGETHROUGHREGISTERS_H

#include "compiler/Target/TargetProfile.h"
#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

/// `heddle-stage-through-registers`, on tile.func before its layouts: tiles that a loop of a kernel in blocks or
/// on cooperative matrices loads for a tile.dot are read one iteration ahead, and written to shared memory when that is over.
std::unique_ptr<Pass> createStageThroughRegistersPass(const TargetProfile &profile);
void registerStageThroughRegistersPass();

} // namespace mlir::heddle

#endif
