// Memory for time: what is cheap to compute again need not be kept for the backward pass.
#ifndef HEDDLE_COMPILER_FUSION_RECOMPUTE_H
#define HEDDLE_COMPILER_FUSION_RECOMPUTE_H

#include "mlir/Pass/Pass.h"

#include <optional>

namespace mlir::heddle {

/// What may be computed twice: nothing, what takes a few operations an element (norms, activations, embeddings), or also
/// what takes one matrix product.
enum class Recomputation { None, Cheap, Products };

StringRef toString(Recomputation policy);
/// The policy called `name`, or none.
std::optional<Recomputation> parseRecomputation(StringRef name);

/// `heddle-recompute`: values that are held while an entry needs the most memory, and that the policy allows to make
/// again from what is held anyway, are made again before their next use. Results do not change in any bit.
std::unique_ptr<Pass> createRecomputePass(Recomputation policy);
void registerRecomputePass();

} // namespace mlir::heddle

#endif
