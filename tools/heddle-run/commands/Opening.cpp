#include "tools/heddle-run/commands/Opening.h"

#include "runtime/core/Log.h"
#include "tools/heddle-run/model/CheckpointFolder.h"
#include "tools/heddle-run/model/HuggingFace.h"

namespace heddle::run {

Result<std::unique_ptr<SessionEngine>> openEngine(const ArtifactOptions &options, Profile *profile) {
  SessionOptions session;
  session.device = options.device;
  session.checkNumbers = options.debugNumerics;
  HEDDLE_ASSIGN(std::unique_ptr<Session> opened, Session::open(options.artifact, session));
  const hal::DeviceInfo &device = opened->device();
  log(LogLevel::Info, str("device ", device.id, ": ", device.name, ", ", device.driver, "; target ", opened->target()));
  return std::make_unique<SessionEngine>(std::move(opened), profile);
}

Result<std::optional<Tokenizer>> embeddedTokenizer(SessionEngine &engine) {
  const Artifact &artifact = engine.onDevice().artifact();
  const auto *vocabulary = artifact.module().vocabulary();
  if (!vocabulary)
    return std::optional<Tokenizer>();
  std::vector<TokenizerFile> files;
  for (const schema::VocabularyFile *file : *vocabulary)
    files.push_back({file->name()->str(), std::string(file->bytes()->begin(), file->bytes()->end())});
  HEDDLE_ASSIGN(Tokenizer tokenizer, Tokenizer::fromFiles(files, artifact.origin()));
  return std::optional(std::move(tokenizer));
}

Result<Tokenizer> loadTokenizer(const std::filesystem::path &checkpoint, SessionEngine &engine) {
  Result<Tokenizer> own = loadTokenizer(checkpoint);
  if (own.ok() || own.error().kind != ErrorKind::NotFound)
    return own;
  HEDDLE_ASSIGN(std::optional<Tokenizer> embedded, embeddedTokenizer(engine));
  return embedded ? std::move(*embedded) : std::move(own);
}

TranslationOptions translationOptions(const DecodingOptions &options) {
  TranslationOptions result;
  result.maximumLength = options.maximumLength;
  result.cache = !options.noCache;
  result.beam = options.beam;
  result.lengthPenalty = options.lengthPenalty;
  return result;
}

Status requireEntries(const Engine &engine, std::initializer_list<std::string_view> entries, std::string_view purpose) {
  for (std::string_view entry : entries)
    if (!engine.hasEntry(entry))
      return makeError(ErrorKind::Unsupported, "the artifact has no entry '", entry, "', which ", purpose,
                       " needs; compile the model with all its entries.");
  return Success();
}

Result<OpenModel> openModel(const ArtifactOptions &options, std::string_view architecture, std::string_view command,
                            Profile *profile) {
  HEDDLE_ASSIGN(std::unique_ptr<SessionEngine> engine, openEngine(options, profile));
  HEDDLE_ASSIGN(ModelDescription description, ModelDescription::parse(engine->description()));
  HEDDLE_CHECK(checkArchitecture(description, architecture, command));
  return OpenModel{std::move(engine), std::move(description)};
}

Result<std::optional<uint64_t>> loadTrained(const std::string &checkpoint, Engine &engine,
                                            const ModelDescription &description) {
  HEDDLE_ASSIGN(std::optional<uint64_t> step, loadWeights(checkpoint, engine, description));
  log(LogLevel::Info, str("checkpoint ", checkpoint, " ", describeWeights(step)));
  return step;
}

Result<TrainedModel> openTrained(const ArtifactOptions &options, const std::string &checkpoint,
                                 std::string_view command, Profile *profile) {
  HEDDLE_ASSIGN(OpenModel model, openModel(options, kEncoderAndDecoder, command, profile));
  HEDDLE_ASSIGN(Tokenizer tokenizer, loadTokenizer(checkpoint, *model.engine));
  HEDDLE_CHECK(checkVocabulary(tokenizer, model.description));
  HEDDLE_ASSIGN(std::optional<uint64_t> step, loadTrained(checkpoint, *model.engine, model.description));
  return TrainedModel{std::move(model.engine), std::move(model.description), std::move(tokenizer), step};
}

} // namespace heddle::run
