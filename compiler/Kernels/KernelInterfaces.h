// What ops say of the kernels that they take part in: fusion, cost and tiling ask.
#ifndef HEDDLE_COMPILER_KERNELS_KERNELINTERFACES_H
#define HEDDLE_COMPILER_KERNELS_KERNELINTERFACES_H

#include "dialects/Heddle/Heddle.h"

namespace mlir::heddle {

// Tiling's; the interfaces hand them on.
class KernelEmitter;
struct Place;

/// Whether an elementwise op reads the operand at other places than its own, so that it must be in memory.
bool isReadElsewhere(OpOperand &operand);

} // namespace mlir::heddle

#include "compiler/Kernels/KernelInterfaces.h.inc"

#endif
