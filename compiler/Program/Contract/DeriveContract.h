// Derives the conditions that a call's inputs must fulfil so that no kernel accesses memory out of bounds.
#ifndef HEDDLE_COMPILER_PROGRAM_CONTRACT_DERIVECONTRACT_H
#define HEDDLE_COMPILER_PROGRAM_CONTRACT_DERIVECONTRACT_H

#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

/// Attribute of functions: the conditions of a call, an array of `#plan.segments`. Planning moves them into the entry.
inline constexpr StringLiteral kSegmentsAttrName = "plan.segments";

} // namespace mlir::heddle

#endif
