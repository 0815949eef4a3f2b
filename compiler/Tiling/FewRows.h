// Products of a few rows by a transposed matrix, as of the last hidden states by a table of words when a decoder is
// asked for its next tokens: lanes stand along the contracted dimension.
#ifndef HEDDLE_COMPILER_TILING_FEWROWS_H
#define HEDDLE_COMPILER_TILING_FEWROWS_H

#include "compiler/Tiling/KernelEmitter.h"

namespace mlir::heddle {

/// Whether the product has few rows, all of them at their maximum, and enough columns to share out.
bool hasFewRows(MatmulOp product, KernelEmitter &emitter);

/// Emits the whole kernel of such a product, with its epilogue.
LogicalResult emitFewRows(MatmulOp product, KernelEmitter &emitter);

} // namespace mlir::heddle

#endif
