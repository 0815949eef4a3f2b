// Reads the config.json of a Hugging Face folder as a description. Weights are not read here: the description says
// which tensors of the folder's safetensors files they are, and whoever runs the artifact loads them.
#ifndef HEDDLE_COMPILER_IMPORT_HUGGINGFACE_H
#define HEDDLE_COMPILER_IMPORT_HUGGINGFACE_H

#include "compiler/Import/Description.h"

namespace mlir::heddle {

/// MarianMTModel, BertModel, BertForMaskedLM or GPT2LMHeadModel, as the folder's config.json names it,
/// with the description that is made of it changed. A key that is missing, unknown or has a value that
/// Heddle cannot honour is an error of `context`; one that only matters in training is a warning.
FailureOr<Description> readHuggingFaceFolder(MLIRContext *context, StringRef folder, const DescriptionChanges &changes);

} // namespace mlir::heddle

#endif
