// Reads models, for all programs of the compiler.
#pragma once

#include "compiler/Model/Import/Description.h"
#include "compiler/Pipeline/Pipeline.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir::heddle {

/// The options of a model and its compilation, which heddle-compile and heddle-reference share.
struct ModelOptions {
  std::string model; // see readModel()
  DescriptionChanges changes;
  PipelineOptions pipeline;
};

/// Reads `options.model` (a description (.toml), model text (.weft), module (.mlir), GGUF file (.gguf) or Hugging
/// Face folder) and applies the changes. Returns null after an error reported to the context.
OwningOpRef<ModuleOp> readModel(MLIRContext *context, const ModelOptions &options);

/// Reads the module of a .mlir file. Returns null after an error reported to the context.
OwningOpRef<ModuleOp> readModule(MLIRContext *context, StringRef path);

} // namespace mlir::heddle
