// The vocabulary that belongs to a model.
#pragma once

#include "runtime/model/Description.h"
#include "runtime/model/Engine.h"
#include "runtime/tokenizers/TextCodec.h"

#include <filesystem>
#include <memory>

namespace heddle {

// Returns the vocabulary in the artifact; null if there is none.
Result<std::unique_ptr<TextCodec>> embeddedVocabulary(SessionEngine &engine);

// Loads the vocabulary of a checkpoint or a published model, or the artifact's if `folder` has none.
Result<std::unique_ptr<TextCodec>> loadVocabulary(const std::filesystem::path &folder, SessionEngine &engine,
                                                  const ModelDescription &description);

} // namespace heddle
