#pragma once

#include "compiler/Pipeline/Pipeline.h"

namespace mlir::heddle {

/// Creates a pass that calls `watch` with the module after a phase.
std::unique_ptr<Pass> createWatchPhasePass(Phase phase, PhaseWatch watch);

} // namespace mlir::heddle
