// What `heddle-fuse-kernels` does before it cuts a block into kernels: ops go to where kernels can take them in.
#ifndef HEDDLE_COMPILER_FUSION_HOISTFORFUSION_H
#define HEDDLE_COMPILER_FUSION_HOISTFORFUSION_H

#include "mlir/IR/Block.h"

namespace mlir::heddle {

/// Whether the op costs nothing but a register and is copied into every kernel that uses it. Comparisons are copied
/// too: their operand is in memory anyway, and truth values have no place there. So are conversions to more bits, whose
/// operand is the smaller one, and the rows of a step, which are read wherever they are needed.
bool isCopied(Operation *op);

/// Moves reads of variables, and arithmetic on single numbers that needs nothing else, to the front: whatever needs
/// them, like the update of a weight, can then join an earlier kernel. Arithmetic on a number for each row, or for each
/// part of a row, goes to what it is made of: a kernel that owns the rows can then do it.
void hoistForFusion(Block &block);

} // namespace mlir::heddle

#endif
