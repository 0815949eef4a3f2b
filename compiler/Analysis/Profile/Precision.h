// The formats to which matmul operands may be rounded.
#ifndef HEDDLE_COMPILER_ANALYSIS_PROFILE_PRECISION_H
#define HEDDLE_COMPILER_ANALYSIS_PROFILE_PRECISION_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"

#include <optional>

namespace mlir::heddle {

/// The format to which matmul operands are rounded. Accumulators, softmax, layer norm, the loss, the optimizer, its
/// state and the weights that it updates stay f32. TF32 is f32 in memory; tensor cores read only 10 bits of its
/// fraction.
enum class Precision { F32, BF16, F16, TF32 };

StringRef toString(Precision precision);
std::optional<Precision> parsePrecision(StringRef name);

} // namespace mlir::heddle

#endif
