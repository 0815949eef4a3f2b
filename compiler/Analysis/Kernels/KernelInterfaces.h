// The interfaces by which fusion, cost and tiling ask an op about its kernel.
#pragma once

#include "dialects/Heddle/Heddle.h"

namespace mlir::heddle {

// Defined in compiler/Kernel/Tiling. The interfaces only pass them on.
class KernelEmitter;
struct Place;

/// Returns true if an elementwise op reads the operand at places other than its own. The operand must then be in
/// memory.
bool isReadElsewhere(OpOperand &operand);

/// Returns true if every use of `operand`, a kernel's region argument, reads only the element at the place that is
/// being computed. A result may then overwrite it.
bool isReadInPlace(Value operand);

/// Returns the type of the matrix that a non-anchor op computes on. It is the type of the first result, except for ops
/// that write their operands to other places of the result (rows of a step, columns side by side). A kernel for such an
/// op computes on the operand's type.
RankedTensorType getComputedType(Operation *op);

/// Returns true if the op's result is assembled in memory from parts that a kernel stores. The kernel that produces it
/// cannot use it any further.
bool isMadeInMemory(Operation *op);

/// Returns true if the op is a matmul, or a sum of matmuls of the same block.
bool isSumOfProducts(Operation *op);

} // namespace mlir::heddle

#include "compiler/Analysis/Kernels/KernelInterfaces.h.inc"
