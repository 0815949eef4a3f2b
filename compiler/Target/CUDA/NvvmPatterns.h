// The patterns that MLIR does not have: memory behind 64-bit addresses, and a kernel's place in the launch.
#ifndef HEDDLE_COMPILER_TARGET_CUDA_NVVMPATTERNS_H
#define HEDDLE_COMPILER_TARGET_CUDA_NVVMPATTERNS_H

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace mlir::heddle {

/// The array that is a kernel's shared memory, and where a tile.shared is in it, in bytes.
inline constexpr auto kSharedMemory = static_cast<unsigned>(NVVM::NVVMMemorySpace::Shared);
inline constexpr StringLiteral kSharedMemoryName = "shared_memory";
inline constexpr StringLiteral kSharedOffsetName = "offset";

/// A pointer into device memory.
LLVM::LLVMPointerType getGlobalPointer(MLIRContext *context);

/// Matrices are converted to the addresses of their first elements.
void addMatrixConversion(LLVMTypeConverter &converter);

void populateKernelPatterns(const LLVMTypeConverter &converter, RewritePatternSet &patterns);

} // namespace mlir::heddle

#endif
