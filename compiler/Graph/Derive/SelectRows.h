// Moves the selection of rows before the ops that compute each row by itself.
#ifndef HEDDLE_COMPILER_GRAPH_DERIVE_SELECTROWS_H
#define HEDDLE_COMPILER_GRAPH_DERIVE_SELECTROWS_H

#include "dialects/Heddle/Heddle.h"

namespace mlir::heddle {

/// Replaces the selection of some rows of a value by the ops that compute the value, on the selected rows alone. A loss of
/// hidden words reads the logits of these words only, and so the matmul with the vocabulary computes no others.
void selectRowsEarly(EmbeddingOp selection);

} // namespace mlir::heddle

#endif
