// Emits the machine code of one kernel, in the format of runtime/hal/cpu/Image.h.
#pragma once

#include "compiler/Target/Backend.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir {
class DialectRegistry;

namespace heddle {

/// Writes the code of one kernel into `words`, as an artifact holds it: a header of four words, then the image. Emits
/// an error if it fails. Kernels may be emitted in parallel.
LogicalResult emitImage(LLVM::LLVMFuncOp kernel, const TargetProfile &profile, SmallVectorImpl<uint32_t> &words);

/// Registers the translations to LLVM IR that emitImage needs.
void registerImageTranslations(DialectRegistry &registry);

} // namespace heddle
} // namespace mlir
