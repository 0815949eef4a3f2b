// Matmuls of a few rows by a transposed matrix. An example is the output projection when a decoder computes its next
// tokens. Lanes are laid out along the K dimension. If a processor multiplies the matrix's integers without unpacking
// them, the matmul may have any number of rows.
#pragma once

#include "compiler/Kernel/Tiling/Frames/KernelEmitter.h"

namespace mlir::heddle {

/// Returns true if the matmul has few rows even at their maximum, or is of integers, and has enough columns to distribute.
bool hasFewRows(MatmulOp product, KernelEmitter &emitter);

/// Emits the whole kernel of such a matmul, with its epilogue.
LogicalResult emitFewRows(MatmulOp product, KernelEmitter &emitter);

} // namespace mlir::heddle
