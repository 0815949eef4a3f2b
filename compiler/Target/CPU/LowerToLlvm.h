// Lowers kernels to LLVM functions. README.md describes the calling convention.
#pragma once

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"

namespace mlir::heddle {

/// Attribute of a kernel's function: the bytes of scratch memory that each thread must provide; absent if it needs
/// none.
inline constexpr StringLiteral kScratchBytesName = "heddle.scratch_bytes";

} // namespace mlir::heddle
