// Import: turns a model description into a module of the heddle dialect. Every op is located in the file that describes
// the model.
#pragma once

#include "compiler/Model/Import/Description.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir::heddle {

/// Imports the model description (.toml) at `path`, with `changes`. Mistakes in either are errors of `context`, and the
/// module is then null.
OwningOpRef<ModuleOp> importDescription(MLIRContext *context, StringRef path, const DescriptionChanges &changes);

/// Imports the model text (.weft) at `path`. `changes` are of its parameters and of a description's training keys.
OwningOpRef<ModuleOp> importText(MLIRContext *context, StringRef path, const DescriptionChanges &changes);

/// Returns the module of a model from its description, or null if that failed. `check`, if there is one, sees the
/// description with the tensors of all weights. If it fails, the module is null.
OwningOpRef<ModuleOp> importModel(MLIRContext *context, FailureOr<Description> description,
                                  function_ref<LogicalResult(const Description &)> check = {});

} // namespace mlir::heddle
