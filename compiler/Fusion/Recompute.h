// Memory for time: what is cheap to compute again need not be kept for the backward pass.
#ifndef HEDDLE_COMPILER_FUSION_RECOMPUTE_H
#define HEDDLE_COMPILER_FUSION_RECOMPUTE_H

#include "mlir/Support/LLVM.h"

#include <optional>

namespace mlir::heddle {

/// What may be computed twice: nothing, what takes a few operations an element (norms, activations, embeddings), or
/// also what takes one matrix product.
enum class Recomputation { None, Cheap, Products };

StringRef toString(Recomputation policy);
/// The policy called `name`, or none.
std::optional<Recomputation> parseRecomputation(StringRef name);

} // namespace mlir::heddle

#endif
