// Writes heddle-compile's files, and checks their paths.
#pragma once

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir {
class MLIRContext;
}

namespace mlir::heddle {

/// Fails, after an error, unless `path` is a file, can be created as a file, or is "-" (standard output).
LogicalResult checkOutput(MLIRContext *context, StringRef flag, StringRef path);

/// Returns true if both paths name the same file, also through links. The file need not exist yet.
bool areSameOutput(StringRef path, StringRef other);

/// Writes the whole file or nothing; "-" is standard output. Errors name `flag`, which gave the path.
LogicalResult writeOutput(MLIRContext *context, StringRef flag, StringRef path,
                          function_ref<void(raw_ostream &)> write);

/// Flushes standard output; fails, after an error, if it cannot be written.
LogicalResult flushStandardOutput(MLIRContext *context);

/// Returns what is at `path`, such as "a folder", if something is there that is no regular file; otherwise empty.
StringRef describeSpecialFile(StringRef path);

} // namespace mlir::heddle
