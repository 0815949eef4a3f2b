// Entry points become launches over a static arena. Flag: heddle-plan.
#ifndef HEDDLE_COMPILER_PLANNING_PLAN_H
#define HEDDLE_COMPILER_PLANNING_PLAN_H

#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

/// Replaces each function of launches by a `plan.entry`.
std::unique_ptr<Pass> createPlanPass();
void registerPlanPass();

} // namespace mlir::heddle

#endif
