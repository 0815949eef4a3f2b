// Weights of whole numbers with scales, 8 or 4 bits each, for models that are no longer trained, or whose adapters are
// (Dettmers et al. 2023): a quarter or an eighth of the memory, and of what a step of decoding reads.
#ifndef HEDDLE_COMPILER_DERIVE_QUANTIZEWEIGHTS_H
#define HEDDLE_COMPILER_DERIVE_QUANTIZEWEIGHTS_H

#include "mlir/Pass/Pass.h"
#include "llvm/Support/Error.h"

namespace mlir::heddle {

struct WeightFormat {
  int64_t bits = 8;  // of a number: 8 or 4
  int64_t group = 0; // neighbours along the contracted dimension that share a scale; 0: all of them
};

/// Of "int8", "int4" (groups of 32), "int8:32", "int4:128". An error says what is wrong.
llvm::Expected<WeightFormat> parseWeightFormat(StringRef text);

/// `heddle-quantize-weights` with a format that is parsed already.
std::unique_ptr<Pass> createQuantizeWeightsPass(WeightFormat format);

} // namespace mlir::heddle

#endif
