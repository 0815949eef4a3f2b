// Expands float functions that devices lack, or that they compute differently from C.
#pragma once

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace mlir::heddle {

/// Ops with a 16-bit float result for which `needsF32` returns true compute in f32 instead and round the result.
void computeInF32(Operation *kernel, function_ref<bool(Operation *, FloatType)> needsF32);

/// Replaces `powf` and `remf` by arithmetic with the results of C's `pow` and `fmod`, and `cbrt`, `atan2`, `erf`,
/// `erfc`, `isfinite`, `isinf`, `isnormal` and `clampf` by simpler ops. The replacements use `log2`, `exp2`, `exp`,
/// `atan` and functions that every device has instructions for.
void expandFunctions(Operation *kernel);

} // namespace mlir::heddle
