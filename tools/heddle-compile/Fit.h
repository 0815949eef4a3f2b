// Fits a model into a device's memory: --fit.
#pragma once

#include "mlir/IR/MLIRContext.h"
#include "tools/heddle-compile/CompileFlags.h"

namespace mlir::heddle {

struct Fit {
  CommandLine line;    // with the largest batch that fits, and the recomputation it needs
  std::string verdict; // one line for the user
};

/// Finds a batch with which the device memory of every target is at most `line.fit`, by compiling up to phase `plan`.
/// Tries the requested batch and its halves, down to the longest sequence, each with the requested recomputation (with
/// `none` and then `cheap`, if it is `auto`) and then with --recompute=products; then a few batches between the first
/// that fits and the last that does not. If nothing fits, fails with an error that states the least memory needed.
FailureOr<Fit> fitMemory(MLIRContext *context, const CommandLine &line);

} // namespace mlir::heddle
