// An object file as one position-independent image.
#ifndef HEDDLE_COMPILER_TARGET_CPU_LINKIMAGE_H
#define HEDDLE_COMPILER_TARGET_CPU_LINKIMAGE_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>

namespace mlir::heddle {

struct CodeImage {
  SmallVector<char, 0> bytes; // to be placed at a multiple of kImageAlignment
  uint32_t entry = 0;         // the entry point's offset
};

inline constexpr uint64_t kImageAlignment = 64;

/// Puts code and constants of an ELF object of x86-64 or AArch64 behind each other and resolves all relocations. An
/// undefined symbol, writable data and an absolute address are errors.
llvm::Expected<CodeImage> linkImage(StringRef object, StringRef entry);

} // namespace mlir::heddle

#endif
