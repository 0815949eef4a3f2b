// Scans become repetitions: one kernel for all steps, over rows of steps that lie together.
#ifndef HEDDLE_COMPILER_RECURRENCE_RECURRENCE_H
#define HEDDLE_COMPILER_RECURRENCE_RECURRENCE_H

#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

/// `heddle-hoist-scans`: what a step makes of rows and constants alone is made before the scan, for all tokens at once.
std::unique_ptr<Pass> createHoistScansPass();
void registerHoistScansPass();

/// `heddle-lower-scans`: each `heddle.scan` of an entry becomes a `heddle.repeat`. Within it tokens are in the order of
/// steps: sequences are sorted by falling length, so that a step's rows lie together and no row is padding.
std::unique_ptr<Pass> createLowerScansPass();
void registerLowerScansPass();

/// `heddle-separate-states`: after `heddle-fuse-kernels`, gives a state that a kernel cannot write over the old one a
/// kernel that copies it, at the end of the step.
std::unique_ptr<Pass> createSeparateStatesPass();
void registerSeparateStatesPass();

} // namespace mlir::heddle

#endif
