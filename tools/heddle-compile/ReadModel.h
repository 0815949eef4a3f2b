// The models that programs of the compiler take.
#ifndef HEDDLE_TOOLS_HEDDLE_COMPILE_READMODEL_H
#define HEDDLE_TOOLS_HEDDLE_COMPILE_READMODEL_H

#include "compiler/Import/Description.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir::heddle {

/// The module of a description (.toml), a model text (.weft), a module (.mlir), a GGUF file (.gguf) or a Hugging Face
/// folder at `path`, changed. Null after an error of the context.
OwningOpRef<ModuleOp> readModel(MLIRContext *context, StringRef path, const DescriptionChanges &changes);

/// The module of a .mlir file. Null after an error of the context.
OwningOpRef<ModuleOp> readModule(MLIRContext *context, StringRef path);

} // namespace mlir::heddle

#endif
