// Writes the module after each phase to a file (--dump-phases).
#pragma once

#include "compiler/Pipeline/Pipeline.h"

namespace mlir::heddle {

/// `options.dumpDirectory`/NN-phase.mlir, where NN is the phase's index in the table.
std::string getDumpPath(const PhaseInfo &phase, const PipelineOptions &options);

/// Creates the pass that writes this file.
std::unique_ptr<Pass> createDumpPhasePass(const PhaseInfo &phase, const PipelineOptions &options);

} // namespace mlir::heddle
