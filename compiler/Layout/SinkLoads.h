// The pass that shortens the lives of what a lane loads.
#ifndef HEDDLE_COMPILER_LAYOUT_SINKLOADS_H
#define HEDDLE_COMPILER_LAYOUT_SINKLOADS_H

#include <memory>

namespace mlir {
class Pass;

namespace heddle {

/// `heddle-sink-loads`, on tile.func lowered to lanes: moves each load, and what only picks or repeats elements of one,
/// down to its first use in its block, though never past a write. Compilers for processors keep the order that they are
/// given. A GPU's schedule loads anyway, but move them up only, as far as registers last: with `factors` none but the
/// loads of tensor cores' factors are moved, for which that matters.
std::unique_ptr<Pass> createSinkLoadsPass(bool factors = false);
void registerSinkLoadsPass();

} // namespace heddle
} // namespace mlir

#endif
