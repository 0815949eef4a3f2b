// The description of a published model.
#pragma once

#include "compiler/Model/HuggingFace/Config.h"
#include "compiler/Model/Import/Description.h"

namespace mlir::heddle {

struct GgufContents;

/// Returns the description that a configuration and `changes` give, with the names of the weights' tensors, or with the
/// family that names them. `gguf` is null for folders. Fails after an error.
FailureOr<Description> describeModel(HuggingFaceConfig &config, const DescriptionChanges &changes,
                                     const GgufContents *gguf);

/// Adds to the description what the configuration says about the model's arithmetic.
void addPublishedMeaning(const HuggingFaceConfig &config, Description &description);

} // namespace mlir::heddle
