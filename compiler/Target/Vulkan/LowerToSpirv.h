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

/// On the spirv.module of a kernel whose lanes exchange values: how many neighbouring lanes do, which must share a
/// subgroup.
inline constexpr llvm::StringLiteral kExchangeName = "heddle.exchange";

/// The arguments that a kernel takes as texel buffers beside their addresses, in ascending order.
SmallVector<uint32_t> getTexelArguments(spirv::ModuleOp kernel);

/// Shared memory that a kernel declares.
int64_t getSharedBytes(spirv::ModuleOp kernel);

/// The SPIR-V binary of one kernel. Failure comes after an emitted error.
LogicalResult serializeKernel(spirv::ModuleOp kernel, SmallVectorImpl<uint32_t> &words);

} // namespace heddle
} // namespace mlir

#endif
