// The pass that turns a workgroup's program on tiles into one lane's program on registers.
#ifndef HEDDLE_COMPILER_LANES_LOWERTOLANES_H
#define HEDDLE_COMPILER_LANES_LOWERTOLANES_H

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

#endif
