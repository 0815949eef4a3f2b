// The pass that gives matrix products operands of 16 bits.
#ifndef HEDDLE_COMPILER_FUSION_SETPRECISION_H
#define HEDDLE_COMPILER_FUSION_SETPRECISION_H

#include "compiler/Target/TargetProfile.h"
#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

/// `heddle-set-precision`; attention with heads of other widths than `heads` has stays in f32.
std::unique_ptr<Pass> createSetPrecisionPass(Precision precision, HeadWidths heads = {});

} // namespace mlir::heddle

#endif
