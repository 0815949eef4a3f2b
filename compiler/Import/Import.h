// Import: a model description, or the configuration in a Hugging Face folder, becomes a module of the heddle dialect,
// every op located in the file that describes the model.
#ifndef HEDDLE_COMPILER_IMPORT_IMPORT_H
#define HEDDLE_COMPILER_IMPORT_IMPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>

namespace mlir::heddle {

/// Imports the model description (.toml) at `path`, with each `key=value` of `overrides` in place of what it says.
/// Mistakes in either are errors of `context`; the module is then null.
OwningOpRef<ModuleOp> importDescription(MLIRContext *context, StringRef path, ArrayRef<std::string> overrides);

/// Imports the model of a Hugging Face folder by its config.json, with each `key=value` of `overrides` in place of what
/// the description made of it says. The weights stay where they are: `tensors` in the module's description names them.
OwningOpRef<ModuleOp> importHuggingFace(MLIRContext *context, StringRef folder, ArrayRef<std::string> overrides);

} // namespace mlir::heddle

#endif
