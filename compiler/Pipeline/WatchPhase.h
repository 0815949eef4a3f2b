#ifndef HEDDLE_COMPILER_PIPELINE_WATCHPHASE_H
#define HEDDLE_COMPILER_PIPELINE_WATCHPHASE_H

#include "compiler/Pipeline/Pipeline.h"

namespace mlir::heddle {

/// Creates a pass that calls `watch` with the module after a phase.
std::unique_ptr<Pass> createWatchPhasePass(Phase phase, PhaseWatch watch);

} // namespace mlir::heddle

#endif
