// Imports models from Hugging Face folders and GGUF files. Their config.json, or their keys, become a description.
// Weights are not read here: the description says which tensors they are, and whoever runs the artifact loads them.
#pragma once

#include "compiler/Model/Import/Import.h"

namespace mlir::heddle {

/// Imports a model of one of the architectures that config.json may name, with `changes` to its description. If a key
/// is missing, unknown, or has a value that Heddle does not support, the module is null after an error. A key that
/// matters only in training, or is unknown and empty, is a warning. Unknown keys in `changes.ignoredKeys` pass.
OwningOpRef<ModuleOp> importHuggingFace(MLIRContext *context, StringRef folder, const DescriptionChanges &changes);

/// Imports the model of a GGUF file. The description is that of the Hugging Face folder of the same model. A key, a
/// tensor or a type that Heddle does not know is an error.
OwningOpRef<ModuleOp> importGguf(MLIRContext *context, StringRef path, const DescriptionChanges &changes);

} // namespace mlir::heddle
