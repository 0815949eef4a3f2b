// Conversion patterns that MLIR lacks: memory accesses by 64-bit addresses, shared memory, shuffles, and the ids of
// workgroups and lanes.
#pragma once

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace mlir::heddle {

/// The address space and the name of the array that holds a kernel's shared memory, and the attribute of a tile.shared
/// with its offset in that array, in bytes.
inline constexpr auto kSharedMemory = static_cast<unsigned>(NVVM::NVVMMemorySpace::Shared);
inline constexpr StringLiteral kSharedMemoryName = "shared_memory";
inline constexpr StringLiteral kSharedOffsetName = "offset";

/// A pointer into device memory.
LLVM::LLVMPointerType getGlobalPointer(MLIRContext *context);

/// Converts matrices to the addresses of their first elements.
void addMatrixConversion(LLVMTypeConverter &converter);

void populateKernelPatterns(const LLVMTypeConverter &converter, RewritePatternSet &patterns);

} // namespace mlir::heddle
