// Lowers one lane's program to NVVM, and NVVM to PTX.
#pragma once

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

/// Attribute of a gpu.module: the bytes of shared memory that its launches must request; absent if it needs none.
inline constexpr StringLiteral kSharedBytesName = "heddle.shared_bytes";

/// The name of the entry point in each of these modules.
inline constexpr StringLiteral kEntryName = "main";

/// The name of a kernel's entry point in artifacts: a PTX identifier that is not a keyword.
std::string getEntryName(StringRef kernel);

/// Returns the PTX with its entry point, and the entry point's parameters, renamed.
std::string renameEntry(StringRef ptx, StringRef name);

/// Writes the optimised PTX of one kernel into `ptx`. Emits an error if it fails. Kernels may be emitted in parallel.
LogicalResult emitPtx(gpu::GPUModuleOp kernel, std::string &ptx);

/// Registers the translations to LLVM IR that emitPtx needs.
void registerPtxTranslations(DialectRegistry &registry);

} // namespace heddle
} // namespace mlir
