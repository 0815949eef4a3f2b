// Opens artifacts, models and vocabularies, for several commands.
#pragma once

#include "runtime/model/Description.h"
#include "runtime/model/EmbeddingRule.h"
#include "runtime/model/Engine.h"
#include "runtime/model/Translator.h"
#include "runtime/tokenizers/TextCodec.h"
#include "tools/cli/SameFile.h"
#include "tools/heddle-run/commands/Commands.h"
#include "tools/heddle-run/report/Profile.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

namespace heddle {
class Ranks; // runtime/ranks/Ranks.h
}

namespace heddle::run {

// Returns all files that a command reads: the artifact, the base, `others`, and texts.
std::vector<std::filesystem::path> filesRead(const ArtifactOptions &options,
                                             const std::vector<std::filesystem::path> &others,
                                             std::initializer_list<const TextFiles *> texts = {});

// Runs a command's work, with a profile if one was requested, otherwise with null. Fails if the profile would overwrite
// a file that the command reads.
template <typename Work>
Status profiled(const ArtifactOptions &options, std::string_view command,
                const std::vector<std::filesystem::path> &read, Work work) {
  HEDDLE_CHECK(cli::checkOutput("--profile", options.profile, read));
  HEDDLE_ASSIGN(std::unique_ptr<Profile> profile, Profile::begin(options.profile, command));
  HEDDLE_CHECK(work(profile.get()));
  return profile ? profile->finish() : Status(Success());
}

// Opens the artifact, and prints the device and target to stderr. Ranks on one machine take different devices, if there
// are several and `--device` does not name one by number.
Result<std::unique_ptr<SessionEngine>> openEngine(const ArtifactOptions &options, Profile *profile,
                                                  Ranks *ranks = nullptr);

// An artifact on its device, without weights.
struct OpenModel {
  std::unique_ptr<SessionEngine> engine;
  ModelDescription description;
  std::vector<std::unique_ptr<SessionEngine>> others; // engines on the further devices of --devices
  OtherMeaning otherMeaning;                          // how to treat weights whose meaning differs
};

Result<OpenModel> openModel(const ArtifactOptions &options, Profile *profile);
// Fails if the model's architecture (Description.h) is not the command's.
Result<OpenModel> openModel(const ArtifactOptions &options, std::string_view architecture, std::string_view command,
                            Profile *profile);

// Loads the weights, and prints which ones to stderr. Returns their step, if it is known.
Result<std::optional<uint64_t>> loadTrained(const std::string &checkpoint, const OpenModel &model);

// Loads the same weights into the engines of the other devices.
Status loadOthers(const std::string &base, const std::string &checkpoint, const OpenModel &model);

// A trained model, ready to read and write text.
struct TrainedModel : OpenModel {
  std::unique_ptr<TextCodec> vocabulary;
  std::optional<uint64_t> step; // the step of its weights; published weights have none
};

// Loads the model's weights, on all its devices, and its vocabulary. If none is needed, a missing one is replaced by one
// without tokens.
Result<TrainedModel> withWeights(OpenModel model, const std::string &base, const std::string &checkpoint,
                                 bool needsVocabulary = true);
Result<TrainedModel> openTrained(const ArtifactOptions &options, const std::string &checkpoint,
                                 std::string_view architecture, std::string_view command, Profile *profile,
                                 bool needsVocabulary = true);

// Returns a worker for each device of a model: a LineTranslator, a LineGenerator, ...
template <typename Worker, typename... Arguments>
std::vector<std::unique_ptr<Worker>> workersFor(const OpenModel &model, const Arguments &...arguments) {
  std::vector<std::unique_ptr<Worker>> workers;
  workers.push_back(std::make_unique<Worker>(*model.engine, model.description, arguments...));
  for (const std::unique_ptr<SessionEngine> &engine : model.others)
    workers.push_back(std::make_unique<Worker>(*engine, model.description, arguments...));
  return workers;
}

// How the model's hidden states become a text's vector. The base's folder says so if the checkpoint is an adapter.
// Without modules.json a decoder's vectors have length 1, as llama.cpp's, and an encoder's are not normalised.
Result<EmbeddingRule> embeddingRule(const ArtifactOptions &options, const std::string &checkpoint,
                                    const ModelDescription &model);

TranslationOptions translationOptions(const DecodingOptions &options);

// Returns null if the most probable token is to be chosen. Fails if a rule is set that --samplers leaves out.
Result<std::optional<SamplingOptions>> samplingOptions(const SamplingFlags &flags);

Status requireEntries(const Engine &engine, std::initializer_list<std::string_view> entries, std::string_view purpose);

} // namespace heddle::run
