// The pass that rounds the operands of matmuls to fewer bits.
#ifndef HEDDLE_COMPILER_GRAPH_PRECISION_SETPRECISION_H
#define HEDDLE_COMPILER_GRAPH_PRECISION_SETPRECISION_H

#include "compiler/Analysis/Profile/TargetProfile.h"
#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

/// `heddle-set-precision`. Attention stays in f32 if its head width is not one of `heads`.
std::unique_ptr<Pass> createSetPrecisionPass(Precision precision, HeadWidths heads = {});

} // namespace mlir::heddle

#endif
