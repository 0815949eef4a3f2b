// Lowers one lane's program to a SPIR-V module, and serialises the module.
#pragma once

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

/// Attribute of the spirv.module of a kernel whose lanes exchange values: the number of neighbouring lanes that do so,
/// which must be in the same subgroup.
inline constexpr llvm::StringLiteral kExchangeName = "heddle.exchange";

/// Attribute of the spirv.module of a kernel that reads texel buffers: the number of f32 per texel (1, 2 or 4).
inline constexpr llvm::StringLiteral kTexelFloatsName = "heddle.texel_floats";

/// The arguments that a kernel takes as texel buffers in addition to their addresses, in ascending order.
SmallVector<uint32_t> getTexelArguments(spirv::ModuleOp kernel);

/// The bytes of shared memory that a kernel declares.
int64_t getSharedBytes(spirv::ModuleOp kernel);

/// Writes the SPIR-V binary of one kernel into `words`. Emits an error if it fails.
LogicalResult serializeKernel(spirv::ModuleOp kernel, SmallVectorImpl<uint32_t> &words);

} // namespace heddle
} // namespace mlir
