// Kernels of a launch for few rows beside the one for many: a decoder is called for one sequence, for several, and for
// the tokens of a prompt, and a product's best tiles differ.
#ifndef HEDDLE_COMPILER_TILING_ROWVARIANTS_H
#define HEDDLE_COMPILER_TILING_ROWVARIANTS_H

#include "dialects/Heddle/Heddle.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::heddle {

/// Whether the kernel's entry goes on with the caches of decoding.
bool isOfDecoding(KernelOp kernel);

/// The size that is the number of rows of all the kernel's products, with a right side whose shape is known. Null where
/// there is no such product, or the size is not an input's.
SizeOp findRowsOfProducts(KernelOp kernel);

/// The size that is `size` in calls where that is above `from` and at most `most`, and else 0. The module gets it if it
/// has none.
SizeOp getSizeWithin(SizeOp size, int64_t from, int64_t most);

/// The grid, with no workgroups where `within` is 0; null where no axis is free to say so. `whole` is the size that
/// `within` is in other calls.
ArrayAttr restrictGrid(ArrayAttr grid, SizeOp whole, SizeOp within);

} // namespace mlir::heddle

#endif
