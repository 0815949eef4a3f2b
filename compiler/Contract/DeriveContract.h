// The pass that finds what a call must fulfil, so that no kernel reads or writes where nothing is.
#ifndef HEDDLE_COMPILER_CONTRACT_DERIVECONTRACT_H
#define HEDDLE_COMPILER_CONTRACT_DERIVECONTRACT_H

#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

/// Of functions, after planning of entries: an array of `#plan.segments`.
inline constexpr StringLiteral kSegmentsAttrName = "plan.segments";

} // namespace mlir::heddle

#endif
