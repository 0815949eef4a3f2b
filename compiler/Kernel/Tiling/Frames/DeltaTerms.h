// Tiles of heddle.attention_delta, in a kernel of its own or in the epilogue of a matmul.
#pragma once

#include "compiler/Kernel/Tiling/Frames/KernelEmitter.h"

namespace mlir::heddle {

/// Returns a tile of attention's result times its gradient. The delta of a head is the sum over the head's columns.
/// If tensor cores round the gradient to tf32, it is rounded here, too: the backward pass subtracts the delta from
/// products of the rounded gradient. If a query has only one key, they must cancel.
Value deltaTerms(KernelEmitter &emitter, AttentionDeltaOp delta, const Place &place);

} // namespace mlir::heddle
