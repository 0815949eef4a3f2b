// The pass that turns a workgroup's program on tiles into one lane's program on registers.
#pragma once

#include <memory>

namespace mlir {
class OpPassManager;
class Pass;

namespace heddle {

/// Adds heddle-lower-conversions, heddle-lower-to-lanes and clean-up passes to a pipeline on tile.func. Every target's
/// lowering starts with them.
void buildLaneProgram(OpPassManager &kernels);

} // namespace heddle
} // namespace mlir
