// Links an object file into one position-independent image.
#pragma once

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>

namespace mlir::heddle {

struct CodeImage {
  SmallVector<char, 0> bytes; // to be loaded at a multiple of kImageAlignment
  uint32_t entry = 0;         // the entry point's offset
};

inline constexpr uint64_t kImageAlignment = 64;

/// Concatenates code and constants of an x86-64 or AArch64 ELF object and resolves all relocations. Undefined symbols,
/// writable data and absolute addresses are errors.
llvm::Expected<CodeImage> linkImage(StringRef object, StringRef entry);

} // namespace mlir::heddle
