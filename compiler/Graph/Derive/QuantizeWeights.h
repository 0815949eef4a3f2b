// Weights as 16-bit floats, or as packed integers with scales: 8-bit, 4-bit, or as a GGUF file has them. They are for
// models that are no longer trained, or of which only adapters are trained (Dettmers et al. 2023). They take a quarter or
// an eighth of the memory, and of the bytes that a decoding step reads.
#pragma once

#include "mlir/Pass/Pass.h"
#include "runtime/core/PackedFormat.h"
#include "llvm/Support/Error.h"

namespace mlir::heddle {

using ::heddle::PackedFormat;

/// How weights are stored.
struct WeightFormat {
  enum class Rule { Float, AsStored, F16, BF16, Packed } rule = Rule::AsStored;
  PackedFormat packed = {}; // of all weights, if the rule is Packed
  int64_t panel = 0;        // columns of a panel of weights; 0: rows are contiguous
  int64_t integerPanel = 0; // the same for integers that are multiplied without unpacking; 0: `panel`
};

/// Parses "f32", "f16", "bf16", "file", "int8", "int4" (groups of 32), "int8:32" or "int4:128". The error says what is wrong.
llvm::Expected<WeightFormat> parseWeightFormat(StringRef text);

/// `heddle-quantize-weights` with a parsed format. `trains`: the module gets entries that train its weights, unless they
/// are frozen or packed.
std::unique_ptr<Pass> createQuantizeWeightsPass(WeightFormat format, bool trains);

} // namespace mlir::heddle
