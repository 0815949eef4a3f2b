// What several commands begin with.
#pragma once

#include "runtime/model/Description.h"
#include "runtime/model/Engine.h"
#include "runtime/model/Translator.h"
#include "runtime/text/TextCodec.h"
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

// The files that a command reads: the artifact and the base, these, and texts.
std::vector<std::filesystem::path> filesRead(const ArtifactOptions &options,
                                             const std::vector<std::filesystem::path> &others,
                                             std::initializer_list<const TextFiles *> texts = {});

// Does a command's work, under a profile where one is asked for; without one the work gets null. The profile is none of
// the files that are read.
template <typename Work>
Status profiled(const ArtifactOptions &options, std::string_view command,
                const std::vector<std::filesystem::path> &read, Work work) {
  HEDDLE_CHECK(cli::checkOutput("--profile", options.profile, read));
  HEDDLE_ASSIGN(std::unique_ptr<Profile> profile, Profile::begin(options.profile, command));
  HEDDLE_CHECK(work(profile.get()));
  return profile ? profile->finish() : Status(Success());
}

// Opens the artifact and says on stderr which device and target are in use. Ranks of one machine take different
// devices, where it has several and `--device` names none by number.
Result<std::unique_ptr<SessionEngine>> openEngine(const ArtifactOptions &options, Profile *profile,
                                                  Ranks *ranks = nullptr);

// The vocabulary in the artifact; null where there is none.
Result<std::unique_ptr<TextCodec>> embeddedVocabulary(SessionEngine &engine);

// The vocabulary of a checkpoint or a Hugging Face folder, or the artifact's where the folder has none.
Result<std::unique_ptr<TextCodec>> loadVocabulary(const std::filesystem::path &folder, SessionEngine &engine,
                                                  const ModelDescription &description);

// An artifact on its device, without weights.
struct OpenModel {
  std::unique_ptr<SessionEngine> engine;
  ModelDescription description;
  std::vector<std::unique_ptr<SessionEngine>> others; // on the further devices of --devices
  OtherMeaning otherMeaning;                          // of the weights that it is given
};

Result<OpenModel> openModel(const ArtifactOptions &options, Profile *profile);
// Fails where the model is not of the architecture (Description.h) that the command takes.
Result<OpenModel> openModel(const ArtifactOptions &options, std::string_view architecture, std::string_view command,
                            Profile *profile);

// Loads the frozen weights from --base where the artifact has such weights, and says so on stderr. A published model's
// folder as checkpoint is its own base.
Status openBase(const ArtifactOptions &options, const std::string &checkpoint, Engine &engine,
                const ModelDescription &description);

// Loads the weights and says on stderr which these are: the step, where it is known.
Result<std::optional<uint64_t>> loadTrained(const std::string &checkpoint, const OpenModel &model);

// Loads the same weights into the other devices' engines.
Status loadOthers(const std::string &base, const std::string &checkpoint, const OpenModel &model);

// A trained model, ready to read and write text.
struct TrainedModel : OpenModel {
  std::unique_ptr<TextCodec> vocabulary;
  std::optional<uint64_t> step; // that its weights are of; published weights have none
};

// Loads the model's weights, on all its devices, and its vocabulary.
Result<TrainedModel> withWeights(OpenModel model, const std::string &base, const std::string &checkpoint);
Result<TrainedModel> openTrained(const ArtifactOptions &options, const std::string &checkpoint,
                                 std::string_view architecture, std::string_view command, Profile *profile);

// A worker for each device of a model: a LineTranslator, a LineGenerator, ...
template <typename Worker, typename... Arguments>
std::vector<std::unique_ptr<Worker>> workersFor(const OpenModel &model, const Arguments &...arguments) {
  std::vector<std::unique_ptr<Worker>> workers;
  workers.push_back(std::make_unique<Worker>(*model.engine, model.description, arguments...));
  for (const std::unique_ptr<SessionEngine> &engine : model.others)
    workers.push_back(std::make_unique<Worker>(*engine, model.description, arguments...));
  return workers;
}

TranslationOptions translationOptions(const DecodingOptions &options);

// Null if the most probable token is to be chosen. Fails if a rule is set that --samplers leaves out.
Result<std::optional<SamplingOptions>> samplingOptions(const SamplingFlags &flags);

Status requireEntries(const Engine &engine, std::initializer_list<std::string_view> entries, std::string_view purpose);

} // namespace heddle::run
