// Phase `layout`: which lane holds which element of each tile.
#pragma once

#include "compiler/Analysis/Profile/TargetProfile.h"
#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

/// `heddle-assign-layouts` for a profile, which must outlive the pass.
std::unique_ptr<Pass> createAssignLayoutsPass(const TargetProfile &profile);

} // namespace mlir::heddle
