// What several commands begin with.
#pragma once

#include "tools/heddle-run/commands/Commands.h"
#include "tools/heddle-run/model/Description.h"
#include "tools/heddle-run/model/Engine.h"
#include "tools/heddle-run/model/Translator.h"
#include "tools/heddle-run/report/Profile.h"
#include "tools/heddle-run/text/Tokenizer.h"

#include <filesystem>
#include <memory>
#include <optional>

namespace heddle::run {

// Does a command's work, under a profile where one is asked for; without one the work gets null.
template <typename Work> Status profiled(const ArtifactOptions &options, std::string_view command, Work work) {
  HEDDLE_ASSIGN(std::unique_ptr<Profile> profile, Profile::begin(options.profile, command));
  HEDDLE_CHECK(work(profile.get()));
  return profile ? profile->finish() : Status(Success());
}

// Opens the artifact and says on stderr which device and target are in use.
Result<std::unique_ptr<SessionEngine>> openEngine(const ArtifactOptions &options, Profile *profile);

// That of the vocabulary in the artifact, where there is one.
Result<std::optional<Tokenizer>> embeddedTokenizer(SessionEngine &engine);

// The checkpoint's, or the artifact's where the checkpoint has none.
Result<Tokenizer> loadTokenizer(const std::filesystem::path &checkpoint, SessionEngine &engine);

// A trained model, ready to translate.
struct TrainedModel {
  std::unique_ptr<SessionEngine> engine;
  ModelDescription description;
  Tokenizer tokenizer;
  std::optional<uint64_t> step; // that its weights are of, where it is known
};

Result<TrainedModel> openTrained(const ArtifactOptions &options, const std::string &checkpoint, Profile *profile);

TranslationOptions translationOptions(const DecodingOptions &options);

Status requireEntries(const Engine &engine, std::initializer_list<std::string_view> entries, std::string_view purpose);

} // namespace heddle::run
