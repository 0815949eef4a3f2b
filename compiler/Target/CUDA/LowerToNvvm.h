// From kernels in one lane's terms to NVVM, and from there to PTX.
#ifndef HEDDLE_COMPILER_TARGET_CUDA_LOWERTONVVM_H
#define HEDDLE_COMPILER_TARGET_CUDA_LOWERTONVVM_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"

#include <memory>
#include <string>

namespace mlir {
class DialectRegistry;
class Pass;

namespace gpu {
class GPUModuleOp;
}

namespace heddle {

/// On a gpu.module: the bytes of shared memory that a launch of it must ask for; absent where it needs none.
inline constexpr StringLiteral kSharedBytesName = "heddle.shared_bytes";

/// The entry point of each such module.
inline constexpr StringLiteral kEntryName = "main";

/// What the entry point of a kernel of this name is called in an artifact: an identifier of PTX that is none of its
/// words.
std::string getEntryName(StringRef kernel);

/// PTX with another name for its entry point, and so for the entry point's parameters.
std::string renameEntry(StringRef ptx, StringRef name);

/// The PTX of one kernel, optimised. Failure comes after an emitted error. Kernels may be emitted in parallel.
LogicalResult emitPtx(gpu::GPUModuleOp kernel, std::string &ptx);

/// What emitPtx needs to know of each dialect.
void registerPtxTranslations(DialectRegistry &registry);

} // namespace heddle
} // namespace mlir

#endif
