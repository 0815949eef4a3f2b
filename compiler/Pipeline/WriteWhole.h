#ifndef HEDDLE_COMPILER_PIPELINE_WRITEWHOLE_H
#define HEDDLE_COMPILER_PIPELINE_WRITEWHOLE_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::heddle {

/// Writes all of a file or nothing of it; "-" is standard output. LLVM's own function ends the program where a write
/// fails, such as on a full disk, and leaves what it has written.
llvm::Error writeWhole(StringRef path, llvm::function_ref<void(raw_ostream &)> write);

} // namespace mlir::heddle

#endif // HEDDLE_COMPILER_PIPELINE_WRITEWHOLE_H
