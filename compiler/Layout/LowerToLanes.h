// The pass that turns a workgroup's program on tiles into one lane's program on registers.
#ifndef HEDDLE_COMPILER_LAYOUT_LOWERTOLANES_H
#define HEDDLE_COMPILER_LAYOUT_LOWERTOLANES_H

#include <memory>

namespace mlir {
class OpPassManager;
class Pass;

namespace heddle {

/// Adds to a pipeline on tile.func heddle-lower-conversions, that pass and what tidies up after it: what every target's
/// lowering starts with.
void buildLaneProgram(OpPassManager &kernels);

} // namespace heddle
} // namespace mlir

#endif
