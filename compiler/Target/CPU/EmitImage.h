// Machine code of one kernel. runtime/hal/cpu/Image.h describes its form.
#ifndef HEDDLE_COMPILER_TARGET_CPU_EMITIMAGE_H
#define HEDDLE_COMPILER_TARGET_CPU_EMITIMAGE_H

#include "compiler/Target/TargetProfile.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir {
class DialectRegistry;

namespace heddle {

/// The code of one kernel as an artifact holds it: a header of four words, then the image. Failure comes after an
/// emitted error. Kernels may be emitted in parallel.
LogicalResult emitImage(LLVM::LLVMFuncOp kernel, const TargetProfile &profile, SmallVectorImpl<uint32_t> &words);

/// What emitImage needs to know of each dialect.
void registerImageTranslations(DialectRegistry &registry);

} // namespace heddle
} // namespace mlir

#endif
