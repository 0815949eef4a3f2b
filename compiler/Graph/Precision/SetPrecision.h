// The pass that rounds the operands of matmuls to fewer bits.
#pragma once

#include "compiler/Analysis/Profile/TargetProfile.h"
#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

/// `heddle-set-precision`. Attention stays in f32 if its head width is not one of `heads`.
std::unique_ptr<Pass> createSetPrecisionPass(Precision precision, HeadWidths heads = {});

} // namespace mlir::heddle
