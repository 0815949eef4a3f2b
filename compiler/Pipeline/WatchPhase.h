#ifndef HEDDLE_COMPILER_PIPELINE_WATCHPHASE_H
#define HEDDLE_COMPILER_PIPELINE_WATCHPHASE_H

#include "compiler/Pipeline/Pipeline.h"

namespace mlir::heddle {

/// Shows `watch` what a phase leaves.
std::unique_ptr<Pass> createWatchPhasePass(Phase phase, PhaseWatch watch);

} // namespace mlir::heddle

#endif
