// What each phase, and each pass on its thread, took: for --profile.
#ifndef HEDDLE_TOOLS_HEDDLE_COMPILE_PHASESPANS_H
#define HEDDLE_TOOLS_HEDDLE_COMPILE_PHASESPANS_H

#include "compiler/Pipeline/Pipeline.h"
#include "mlir/Pass/PassInstrumentation.h"

namespace mlir::heddle {

/// Makes spans (runtime/core/Span.h) of a pipeline that buildPhasePipeline() built from phase `first` on: one a phase,
/// and within it one for each pass on each op. `profile` is the target's; null for phases before there is one.
std::unique_ptr<PassInstrumentation> createPhaseSpans(Phase first, const TargetProfile *profile);

} // namespace mlir::heddle

#endif
