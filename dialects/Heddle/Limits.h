// What all kernels demand of the tensors and sizes of a graph.
#ifndef HEDDLE_DIALECTS_HEDDLE_LIMITS_H
#define HEDDLE_DIALECTS_HEDDLE_LIMITS_H

#include "mlir/IR/BuiltinTypes.h"

namespace mlir::heddle {

/// Whether kernels take tensors of this type, as kTensorsOfKernels tells a user.
bool isTensorOfKernels(RankedTensorType type);
inline constexpr StringLiteral kTensorsOfKernels =
    "tensors of f32, bf16, f16, i32 or i1, with one to three dimensions of at least one element each";

/// The largest maximum of a run-time size: as many rows as the largest vocabulary has tokens.
inline constexpr int64_t kLargestSize = 1 << 24;

} // namespace mlir::heddle

#endif
