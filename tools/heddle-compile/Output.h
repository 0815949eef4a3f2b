// Files that heddle-compile writes, and what it reads from.
#ifndef HEDDLE_TOOLS_HEDDLE_COMPILE_OUTPUT_H
#define HEDDLE_TOOLS_HEDDLE_COMPILE_OUTPUT_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir {
class MLIRContext;
}

namespace mlir::heddle {

/// Fails, after an error, where `path` is neither a file, nor the place for a file, nor "-" for standard output.
LogicalResult checkOutput(MLIRContext *context, StringRef flag, StringRef path);

/// Whether two outputs are one file, by whatever names; it need not be there yet.
bool areSameOutput(StringRef path, StringRef other);

/// Writes all of a file or nothing; "-" is standard output. An error names the flag that the path comes from.
LogicalResult writeOutput(MLIRContext *context, StringRef flag, StringRef path,
                          function_ref<void(raw_ostream &)> write);

/// Sends what standard output still holds; failure, after an error, where it takes no more.
LogicalResult flushStandardOutput(MLIRContext *context);

/// The kind of what is at `path`, such as "a folder", where that is neither a regular file nor nothing; else empty.
StringRef describeSpecialFile(StringRef path);

} // namespace mlir::heddle

#endif
