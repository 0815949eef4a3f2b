// Several kernels for one launch, each for calls with another number of rows. A decoder is called for one sequence, for
// several sequences, and for the tokens of a prompt. The best tiles of its matmuls differ between these calls.
#pragma once

#include "dialects/Heddle/Heddle.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::heddle {

/// Finds the entries that read the caches of decoding.
DenseSet<Operation *> findEntriesOfDecoding(ModuleOp module);

/// Finds the run-time size that counts the rows of all matmuls in the kernel. Null if there is no matmul, if a matmul
/// has a right side of run-time shape or another number of rows, or if no input binds the size.
SizeOp findRowsOfProducts(KernelOp kernel);

/// Finds or declares the size that equals `size` in calls where that is above `from` and at most `most`, and that is 0
/// in all other calls.
SizeOp getSizeWithin(SizeOp size, int64_t from, int64_t most);

/// Returns the grid with `within` in place of `whole`, so that a call where `within` is 0 has no workgroups. Null if
/// the grid names no `whole` and has no axis of fixed extent that could take `within`.
ArrayAttr restrictGrid(ArrayAttr grid, SizeOp whole, SizeOp within);

} // namespace mlir::heddle
