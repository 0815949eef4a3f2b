// Compiler errors as a user reads them.
#pragma once

#include "mlir/IR/Diagnostics.h"

namespace mlir::heddle {

/// While it lives, prints each error as `file:line:col: error: ...`: one short paragraph, never the IR. If no file is
/// known, the program's name takes its place.
class DiagnosticPrinter {
public:
  explicit DiagnosticPrinter(MLIRContext *context, StringRef program = "heddle-compile");

  bool hasFailed() const { return errors > 0; }

private:
  unsigned errors = 0;
  ScopedDiagnosticHandler handler;
};

} // namespace mlir::heddle
