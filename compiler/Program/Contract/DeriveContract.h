// Derives the conditions that a call's inputs must fulfil so that no kernel accesses memory out of bounds.
#pragma once

#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

/// Attribute of functions: the conditions of a call, an array of `#plan.segments`. Planning moves them into the entry.
inline constexpr StringLiteral kSegmentsAttrName = "plan.segments";

} // namespace mlir::heddle
