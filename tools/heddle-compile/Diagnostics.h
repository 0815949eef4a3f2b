// Compiler errors as a user reads them.
#pragma once

#include "mlir/IR/Diagnostics.h"
#include "tools/cli/Program.h"

namespace mlir::heddle {

/// While it lives, prints each error as `file:line:col: error: ...`: one short paragraph, never the IR. If no file is
/// known, the program's name takes its place.
class DiagnosticPrinter {
public:
  explicit DiagnosticPrinter(MLIRContext *context, StringRef program = "heddle-compile");

  bool hasFailed() const { return errors > 0; }
  /// The exit code after a failure: that of a wrong command line if an error's location is named like a flag.
  int getExitCode() const { return blamesFlag ? ::heddle::cli::kWrongCommandLine : ::heddle::cli::kWorkFailed; }

private:
  unsigned errors = 0;
  bool blamesFlag = false;
  ScopedDiagnosticHandler handler;
};

} // namespace mlir::heddle
