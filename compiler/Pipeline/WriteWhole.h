#pragma once

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::heddle {

/// Writes a file completely or not at all; "-" is standard output. In contrast, LLVM's own function ends the program if
/// a write fails, such as on a full disk, and leaves a partial file.
llvm::Error writeWhole(StringRef path, llvm::function_ref<void(raw_ostream &)> write);

} // namespace mlir::heddle
