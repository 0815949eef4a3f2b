// Published models whose family is a model text with a section `published`.
#pragma once

#include "compiler/Model/HuggingFace/Config.h"
#include "compiler/Model/Import/Description.h"
#include "runtime/core/Status.h"

namespace mlir::heddle {

/// The contents of a GGUF file that are not already in the configuration.
struct GgufContents {
  /// Returns the value of a key of the architecture, named without its prefix, or nothing if the file has no such key.
  std::function<std::optional<llvm::json::Value>(StringRef key)> find;
  std::function<bool(StringRef tensor)> hasTensor;
};

/// Returns the description that the family's text derives from the configuration. `architecture` is the name that was
/// looked up. `gguf` is null for folders. Keys that the text does not name are left in `config`, and `config` has
/// failed if an inner object has such keys. Fails after any other error.
FailureOr<Description> describeFamily(language::ModelText text, StringRef architecture, HuggingFaceConfig &config,
                                      const DescriptionChanges &changes, const GgufContents *gguf);

/// Returns true if the weights beside a config.json have the tensor. Looks in the files that are loaded later (runtime's
/// TensorFiles). Fails if there are none.
::heddle::Result<bool> isInFolder(StringRef configPath, StringRef tensor);

} // namespace mlir::heddle
