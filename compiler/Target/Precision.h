// The formats that the operands of matrix products may be rounded to.
#ifndef HEDDLE_COMPILER_TARGET_PRECISION_H
#define HEDDLE_COMPILER_TARGET_PRECISION_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"

#include <optional>

namespace mlir::heddle {

/// What the operands of matrix products are rounded to. All else is computed in f32: sums, softmax, layer norm, loss,
/// optimizer and its state, and the weights that it updates. TF32 is f32 in memory, of which tensor cores leave 10 bits
/// of the fraction away.
enum class Precision { F32, BF16, F16, TF32 };

StringRef toString(Precision precision);
std::optional<Precision> parsePrecision(StringRef name);

} // namespace mlir::heddle

#endif
