// The pass that turns a workgroup's program on tiles into one lane's program on registers.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <memory>

namespace mlir {
class OpPassManager;
class Pass;

namespace heddle {

/// Attributes of a kernel with producers, and of the module that it is lowered to. The steps along the K dimension that a
/// tile of the result takes; absent if only the kernel knows this number. The matmuls that share the launch; absent for
/// one.
inline constexpr llvm::StringLiteral kStepsName = "heddle.steps", kMatmulsName = "heddle.matmuls";

/// Adds heddle-lower-conversions, heddle-lower-to-lanes and clean-up passes to a pipeline on tile.func. Every target's
/// lowering starts with them.
void buildLaneProgram(OpPassManager &kernels);

} // namespace heddle
} // namespace mlir
