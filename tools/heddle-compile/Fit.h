// What of a model fits into a device's memory: --fit.
#ifndef HEDDLE_TOOLS_HEDDLE_COMPILE_FIT_H
#define HEDDLE_TOOLS_HEDDLE_COMPILE_FIT_H

#include "mlir/IR/MLIRContext.h"
#include "tools/heddle-compile/CommandLine.h"

namespace mlir::heddle {

struct Fit {
  CommandLine line;    // with the largest batch that fits, and the recomputation that it takes
  std::string verdict; // one line for the user
};

/// Compiles up to phase `plan`, with the batch asked for and halves of it down to the longest sequence, each with the
/// recomputation asked for and then with --recompute=products, until the device memory of every target is at most
/// `line.fit`; then a few batches between that one and the last that did not fit. Fails, saying what the least is,
/// where nothing fits.
FailureOr<Fit> fitMemory(MLIRContext *context, const CommandLine &line);

} // namespace mlir::heddle

#endif
