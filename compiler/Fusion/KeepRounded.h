// The name of the entry that `heddle-keep-rounded` adds to a module.
#ifndef HEDDLE_COMPILER_FUSION_KEEPROUNDED_H
#define HEDDLE_COMPILER_FUSION_KEEPROUNDED_H

#include "mlir/Support/LLVM.h"

namespace mlir::heddle {

/// The entry that writes the rounded copies of all weights.
inline constexpr StringLiteral kRoundEntry = "round_weights";

} // namespace mlir::heddle

#endif
