// The pass that turns a workgroup's program on tiles into one lane's program on registers.
#ifndef HEDDLE_COMPILER_LAYOUT_LOWERTOLANES_H
#define HEDDLE_COMPILER_LAYOUT_LOWERTOLANES_H

#include <memory>

namespace mlir {
class Pass;

namespace heddle {

/// `heddle-lower-to-lanes`, on tile.func. Every tile must carry a layout; after it there is no tile left, but scalars
/// and short vectors in arith, math, scf, vector, memref and gpu. With `shareLoads`, a tile that every lane needs whole is
/// read once by all lanes together and handed round, which pays where memory is read lane by lane, as software does.
std::unique_ptr<Pass> createLowerToLanesPass(bool shareLoads = true);
void registerLowerToLanesPass();

} // namespace heddle
} // namespace mlir

#endif
