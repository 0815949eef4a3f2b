// Phase `layout`: which lane holds which element of each tile.
#ifndef HEDDLE_COMPILER_LAYOUT_ASSIGNLAYOUTS_H
#define HEDDLE_COMPILER_LAYOUT_ASSIGNLAYOUTS_H

#include "compiler/Target/TargetProfile.h"
#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

/// `heddle-assign-layouts` for a profile, which must outlive the pass.
std::unique_ptr<Pass> createAssignLayoutsPass(const TargetProfile &profile);

} // namespace mlir::heddle

#endif
