// Writes the module as it is after a phase: --dump-phases.
#ifndef HEDDLE_COMPILER_PIPELINE_DUMPPHASE_H
#define HEDDLE_COMPILER_PIPELINE_DUMPPHASE_H

#include "compiler/Pipeline/Pipeline.h"

namespace mlir::heddle {

/// `options.dumpDirectory`/NN-phase.mlir, NN being the phase's place in the table.
std::string getDumpPath(const PhaseInfo &phase, const PipelineOptions &options);

/// Writes that file.
std::unique_ptr<Pass> createDumpPhasePass(const PhaseInfo &phase, const PipelineOptions &options);

} // namespace mlir::heddle

#endif
