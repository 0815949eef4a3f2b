// The pass that turns a workgroup's program on tiles into one lane's program on registers.
#ifndef HEDDLE_COMPILER_LAYOUT_LOWERTOLANES_H
#define HEDDLE_COMPILER_LAYOUT_LOWERTOLANES_H

#include <memory>

namespace mlir {
class OpPassManager;
class Pass;

namespace heddle {

/// `heddle-lower-to-lanes`, on tile.func. Every tile must carry a layout; after it there is no tile left, but scalars
/// and short vectors in arith, math, scf, vector, memref and gpu.
std::unique_ptr<Pass> createLowerToLanesPass();
void registerLowerToLanesPass();

/// Adds to a pipeline on tile.func heddle-lower-conversions, that pass and what tidies up after it: what every target's
/// lowering starts with.
void buildLaneProgram(OpPassManager &kernels);

} // namespace heddle
} // namespace mlir

#endif
