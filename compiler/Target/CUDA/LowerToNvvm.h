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

/// `heddle-expand-math`, on tile.func lowered to lanes: replaces the functions that a GPU has no instruction for, or
/// only a rough one, by arithmetic right to a few units in the last place.
std::unique_ptr<Pass> createExpandMathPass();
void registerExpandMathPass();

/// `heddle-lower-to-nvvm`, on a module: each tile.func, already lowered to lanes, becomes a gpu.module of its name with
/// the entry point `main`, for the architecture `chip`. Launches find it by that name. README.md has the calling
/// convention.
std::unique_ptr<Pass> createLowerToNvvmPass(StringRef chip);
void registerLowerToNvvmPass();

/// On a gpu.module: the bytes of shared memory that a launch of it must ask for; absent where it needs none.
inline constexpr StringLiteral kSharedBytesName = "heddle.shared_bytes";

/// The entry point of each such module.
inline constexpr StringLiteral kEntryName = "main";

/// What the entry point of a kernel of this name is called in an artifact: an identifier of PTX that is none of its words.
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
