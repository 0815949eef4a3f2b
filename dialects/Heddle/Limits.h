// Limits that all kernels put on the tensors and sizes of a graph.
#pragma once

#include "mlir/IR/BuiltinTypes.h"

namespace mlir::heddle {

/// Returns true if kernels take tensors of this type. `kTensorsOfKernels` lists these types in messages.
bool isTensorOfKernels(RankedTensorType type);
inline constexpr StringLiteral kTensorsOfKernels =
    "tensors of f32, bf16, f16, i32 or i1, with one to three dimensions of at least one element each";

/// The largest maximum that a run-time size may have: a row for each token of the largest vocabulary.
inline constexpr int64_t kLargestSize = 1 << 24;

} // namespace mlir::heddle
