// From kernels in one lane's terms to SPIR-V modules, and from those to words.
#ifndef HEDDLE_COMPILER_TARGET_VULKAN_LOWERTOSPIRV_H
#define HEDDLE_COMPILER_TARGET_VULKAN_LOWERTOSPIRV_H

#include "mlir/Support/LLVM.h"

#include <cstdint>
#include <memory>

namespace mlir {
class Pass;

namespace spirv {
class ModuleOp;
}

namespace heddle {

/// `heddle-lower-to-spirv`, on a module: each tile.func, already lowered to lanes, becomes a spirv.module of its name
/// with the entry point `main`. Launches find it by that name. README.md has the calling convention.
std::unique_ptr<Pass> createLowerToSpirvPass();
void registerLowerToSpirvPass();

/// The SPIR-V binary of one kernel. Failure comes after an emitted error.
LogicalResult serializeKernel(spirv::ModuleOp kernel, SmallVectorImpl<uint32_t> &words);

} // namespace heddle
} // namespace mlir

#endif
