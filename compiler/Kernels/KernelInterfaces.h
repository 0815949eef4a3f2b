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

/// Whether every use of a kernel's operand, an argument of its region, reads the element at the place that is being
/// computed, so that a result may be written over it.
bool isReadInPlace(Value operand);

/// The matrix that an op which anchors no kernel computes on: its first result's, but for ops that write what they get
/// at another place of theirs, rows of a step and columns side by side. Kernels for these compute on what they get.
RankedTensorType getComputedType(Operation *op);

/// Whether the op's result is put together in memory, where a kernel stores the parts: a kernel that makes it cannot go
/// on with it.
bool isMadeInMemory(Operation *op);

/// Whether the op is a product, or adds up products of its block.
bool isSumOfProducts(Operation *op);

} // namespace mlir::heddle

#include "compiler/Kernels/KernelInterfaces.h.inc"

#endif
