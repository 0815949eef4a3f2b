// Trades time for memory: values that are cheap to compute again need not be kept for the backward pass.
#pragma once

#include "mlir/Support/LLVM.h"

#include <optional>

namespace mlir::heddle {

/// Which values may be computed twice: none; values that take a few operations per element (norms, activations,
/// embeddings); or also values that take one matmul. Auto: none if a training step then takes at most half of the
/// target's memory, else cheap.
enum class Recomputation { None, Cheap, Products, Auto };

StringRef toString(Recomputation policy);
/// The policy called `name`, or nothing.
std::optional<Recomputation> parseRecomputation(StringRef name);

} // namespace mlir::heddle
