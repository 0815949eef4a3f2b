// Records how long each phase and each pass takes, for --profile.
#pragma once

#include "compiler/Pipeline/Pipeline.h"
#include "mlir/Pass/PassInstrumentation.h"

namespace mlir::heddle {

/// Records spans (runtime/core/Span.h) of a pipeline that buildPhasePipeline() built from phase `first` on: one per
/// phase, and inside it one per pass and op. `profile` is null for phases that are independent of the target.
std::unique_ptr<PassInstrumentation> createPhaseSpans(Phase first, const TargetProfile *profile);

/// Records spans of those steps of kernel code generation that are not passes, as long as the context lives.
void watchKernels(MLIRContext *context);

} // namespace mlir::heddle
