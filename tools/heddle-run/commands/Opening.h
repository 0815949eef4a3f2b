// What several commands begin with.
#pragma once

#include "tools/heddle-run/commands/Commands.h"
#include "tools/heddle-run/model/Description.h"
#include "tools/heddle-run/model/Engine.h"
#include "tools/heddle-run/model/Translator.h"
#include "tools/heddle-run/text/Tokenizer.h"

#include <memory>

namespace heddle::run {

// Opens the artifact and says on stderr which device and target are in use.
Result<std::unique_ptr<SessionEngine>> openEngine(const ArtifactOptions &options);

// A trained model, ready to translate.
struct TrainedModel {
  std::unique_ptr<SessionEngine> engine;
  ModelDescription description;
  Tokenizer tokenizer;
};

Result<TrainedModel> openTrained(const ArtifactOptions &options, const std::string &checkpoint);

TranslationOptions translationOptions(const DecodingOptions &options);

// Fails where the model has no room for the vocabulary.
Status checkVocabulary(const Tokenizer &tokenizer, const ModelDescription &description);

Status requireEntries(const Engine &engine, std::initializer_list<std::string_view> entries, std::string_view purpose);

} // namespace heddle::run
