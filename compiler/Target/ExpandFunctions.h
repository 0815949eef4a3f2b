// Functions of floats that devices compute otherwise than C, or for which their compilers have nothing.
#ifndef HEDDLE_COMPILER_TARGET_EXPANDFUNCTIONS_H
#define HEDDLE_COMPILER_TARGET_EXPANDFUNCTIONS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace mlir::heddle {

/// Computes those ops with a result of 16-bit floats for which `needsF32` holds as on f32, and rounds the results.
void computeInF32(Operation *kernel, function_ref<bool(Operation *, FloatType)> needsF32);

/// Replaces `powf` and `remf` by arithmetic that gives what C's `pow` and `fmod` do; `cbrt`, `atan2`, `erf`, `erfc`,
/// `isfinite`, `isinf`, `isnormal` and `clampf` by simpler ops. What remains of `math` is `log2`, `exp2`, `exp`, `atan`
/// and what devices have instructions for.
void expandFunctions(Operation *kernel);

} // namespace mlir::heddle

#endif
