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

// An artifact on its device, without weights.
struct OpenModel {
  std::unique_ptr<SessionEngine> engine;
  ModelDescription description;
};

// Fails where the model is not of the architecture (Description.h) that the command takes.
Result<OpenModel> openModel(const ArtifactOptions &options, std::string_view architecture, std::string_view command,
                            Profile *profile);

// Loads the weights and says on stderr which these are: the step, where it is known.
Result<std::optional<uint64_t>> loadTrained(const std::string &checkpoint, Engine &engine,
                                            const ModelDescription &description);

// A trained model, ready to translate.
struct TrainedModel {
  std::unique_ptr<SessionEngine> engine;
  ModelDescription description;
  Tokenizer tokenizer;
  std::optional<uint64_t> step; // that its weights are of, where it is known
};

Result<TrainedModel> openTrained(const ArtifactOptions &options, const std::string &checkpoint,
                                 std::string_view command, Profile *profile);

TranslationOptions translationOptions(const DecodingOptions &options);

inline std::optional<SamplingOptions> samplingOptions(const SamplingFlags &flags) {
  return flags.sample ? std::optional(flags.options) : std::nullopt;
}

Status requireEntries(const Engine &engine, std::initializer_list<std::string_view> entries, std::string_view purpose);

} // namespace heddle::run
