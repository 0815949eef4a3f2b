// Trades time for memory: values that are cheap to compute again need not be kept for the backward pass.
#pragma once

#include "mlir/Support/LLVM.h"

#include <optional>

namespace mlir::heddle {

/// Which values may be computed twice: none; values that take a few operations per element (norms, activations,
/// embeddings); or also values that take one matmul.
enum class Recomputation { None, Cheap, Products };

StringRef toString(Recomputation policy);
/// The policy called `name`, or none.
std::optional<Recomputation> parseRecomputation(StringRef name);

} // namespace mlir::heddle
