// Compiler errors as a user reads them.
#ifndef HEDDLE_TOOLS_HEDDLE_COMPILE_DIAGNOSTICS_H
#define HEDDLE_TOOLS_HEDDLE_COMPILE_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"

namespace mlir::heddle {

/// Prints each error as `file:line:col: error: ...`, one short paragraph and never the IR, while it lives. Where no
/// file is known the program's name stands for it.
class DiagnosticPrinter {
public:
  explicit DiagnosticPrinter(MLIRContext *context, StringRef program = "heddle-compile");

  bool hasFailed() const { return errors > 0; }

private:
  unsigned errors = 0;
  ScopedDiagnosticHandler handler;
};

} // namespace mlir::heddle

#endif
