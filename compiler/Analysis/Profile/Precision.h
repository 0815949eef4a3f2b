// The formats to which matmul operands may be rounded.
#pragma once

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"

#include <optional>

namespace mlir::heddle {

/// The format to which matmul operands are rounded. Accumulators, softmax, layer norm, the loss, the optimizer, its
/// state and the weights that it updates stay f32. TF32 is f32 in memory; tensor cores read only 10 bits of its
/// fraction. BF16X3 keeps each operand of a matmul as the sum of two bf16 numbers, 16 bits of its fraction, and adds up
/// three matmuls.
enum class Precision { F32, BF16, F16, TF32, BF16X3 };

/// True for the formats in which a variable can be kept.
inline bool isStorable(Precision precision) { return precision <= Precision::F16; }

StringRef toString(Precision precision);
std::optional<Precision> parsePrecision(StringRef name);

} // namespace mlir::heddle
