// From kernels in one lane's terms to SPIR-V modules, and from those to words.
#ifndef HEDDLE_COMPILER_TARGET_VULKAN_LOWERTOSPIRV_H
#define HEDDLE_COMPILER_TARGET_VULKAN_LOWERTOSPIRV_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <memory>

namespace mlir {
class Pass;

namespace spirv {
class ModuleOp;
}

namespace heddle {

/// `heddle-lower-to-spirv`, on a module: each tile.func, already lowered to lanes, becomes a spirv.module of its name
/// with the entry point `main`. Launches find it by that name. README.md has the calling convention. With
/// `texelLoads`, matrices of f32 that a kernel only reads are also bound as texel buffers, and vectors read from there.
std::unique_ptr<Pass> createLowerToSpirvPass(bool texelLoads = false);

/// On the spirv.module of a kernel whose lanes exchange values: how many neighbouring lanes do, which must share a
/// subgroup.
inline constexpr llvm::StringLiteral kExchangeName = "heddle.exchange";
void registerLowerToSpirvPass();

/// The arguments that a kernel takes as texel buffers beside their addresses, in ascending order.
SmallVector<uint32_t> getTexelArguments(spirv::ModuleOp kernel);

/// Shared memory that a kernel declares.
int64_t getSharedBytes(spirv::ModuleOp kernel);

/// The SPIR-V binary of one kernel. Failure comes after an emitted error.
LogicalResult serializeKernel(spirv::ModuleOp kernel, SmallVectorImpl<uint32_t> &words);

} // namespace heddle
} // namespace mlir

#endif
