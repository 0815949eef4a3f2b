// Weights of whole numbers with scales, for models that are no longer trained, or whose adapters are (Dettmers et al.
// 2023): of 8 or 4 bits each, or as a GGUF file has them. They take a quarter or an eighth of the memory, and of what a
// step of decoding reads.
#ifndef HEDDLE_COMPILER_DERIVE_QUANTIZEWEIGHTS_H
#define HEDDLE_COMPILER_DERIVE_QUANTIZEWEIGHTS_H

#include "mlir/Pass/Pass.h"
#include "runtime/core/PackedFormat.h"
#include "llvm/Support/Error.h"

namespace mlir::heddle {

using ::heddle::PackedFormat;

/// What weights are kept as.
struct WeightFormat {
  enum class Rule { Float, AsStored, Packed } rule = Rule::AsStored;
  PackedFormat packed = {}; // of all weights, with Rule::Packed
};

/// Of "f32", "file", "int8", "int4" (groups of 32), "int8:32", "int4:128". An error says what is wrong.
llvm::Expected<WeightFormat> parseWeightFormat(StringRef text);

/// `heddle-quantize-weights` with a format that is parsed already.
std::unique_ptr<Pass> createQuantizeWeightsPass(WeightFormat format);

} // namespace mlir::heddle

#endif
