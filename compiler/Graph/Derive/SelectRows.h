// Moves the selection of rows before the ops that compute each row by itself.
#pragma once

#include "dialects/Heddle/Heddle.h"

namespace mlir::heddle {

/// Replaces a selection of rows of a computed value: selects the rows of the operands first, and computes only these
/// rows of the value. The loss of hidden words reads only their logits, so the matmul with the vocabulary computes no
/// others.
void selectRowsEarly(EmbeddingOp selection);

} // namespace mlir::heddle
