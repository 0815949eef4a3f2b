// The pass that copies the operands of products in blocks or on cooperative matrices to shared memory, through
// registers.
#ifndef HEDDLE_COMPILER_LANES_STAGETHROUGHREGISTERS_H
#define HEDDLE_COMPILER_LANES_STAGETHROUGHREGISTERS_H

#include "compiler/Analysis/Profile/TargetProfile.h"
#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

/// `heddle-stage-through-registers` for a profile, which must outlive the pass.
std::unique_ptr<Pass> createStageThroughRegistersPass(const TargetProfile &profile);

} // namespace mlir::heddle

#endif
