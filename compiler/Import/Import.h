// Import: a model description becomes a module of the heddle dialect, every op located in the description's file.
#ifndef HEDDLE_COMPILER_IMPORT_IMPORT_H
#define HEDDLE_COMPILER_IMPORT_IMPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>

namespace mlir::heddle {

/// Imports the model description (.toml) at `path`, with each `key=value` of `overrides` in place of what it says.
/// Mistakes in either are errors of `context`; the module is then null.
OwningOpRef<ModuleOp> importDescription(MLIRContext *context, StringRef path, ArrayRef<std::string> overrides);

} // namespace mlir::heddle

#endif
