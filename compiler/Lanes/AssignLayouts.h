// Phase `layout`: which lane holds which element of each tile.
#ifndef HEDDLE_COMPILER_LANES_ASSIGNLAYOUTS_H
#define HEDDLE_COMPILER_LANES_ASSIGNLAYOUTS_H

#include "compiler/Analysis/Profile/TargetProfile.h"
#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

/// `heddle-assign-layouts` for a profile, which must outlive the pass.
std::unique_ptr<Pass> createAssignLayoutsPass(const TargetProfile &profile);

} // namespace mlir::heddle

#endif
