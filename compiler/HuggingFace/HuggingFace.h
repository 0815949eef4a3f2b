// Imports the models of Hugging Face folders and GGUF files: their config.json, or their keys, are read as a
// description. Weights are not read here: the description says which tensors they are, and whoever runs the artifact
// loads them.
#ifndef HEDDLE_COMPILER_HUGGINGFACE_HUGGINGFACE_H
#define HEDDLE_COMPILER_HUGGINGFACE_HUGGINGFACE_H

#include "compiler/Import/Import.h"

namespace mlir::heddle {

/// Imports the model of one of the architectures that config.json may name, with the description that is made of it
/// changed. A key that is missing, unknown or has a value that Heddle cannot honour is an error of `context`, and the
/// module is null; a key that only matters in training, or is unknown and empty, is a warning. Unknown keys among
/// `changes.ignoredKeys` pass.
OwningOpRef<ModuleOp> importHuggingFace(MLIRContext *context, StringRef folder, const DescriptionChanges &changes);

/// Imports the model of a GGUF file: the description is that of the Hugging Face folder of the same model. A key, a
/// tensor or a type that Heddle does not know is an error.
OwningOpRef<ModuleOp> importGguf(MLIRContext *context, StringRef path, const DescriptionChanges &changes);

} // namespace mlir::heddle

#endif
