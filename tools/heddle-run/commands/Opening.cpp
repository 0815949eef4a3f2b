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

Status checkVocabulary(const Tokenizer &tokenizer, const ModelDescription &description) {
  if (tokenizer.pieces() > description.vocabularySize)
    return makeError(ErrorKind::InvalidArgument, "the vocabulary has ", tokenizer.pieces(),
                     " pieces and the model room for ", description.vocabularySize,
                     "; compile it with --set vocab_size=", tokenizer.pieces(), " or use a smaller vocabulary.");
  if (tokenizer.endId() != description.marks.end)
    return makeError(ErrorKind::InvalidArgument, "a sentence's end is token ", tokenizer.endId(),
                     " of the vocabulary and ", description.marks.end,
                     " of the model; use the vocabulary that the model was made with.");
  return Success();
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

Result<TrainedModel> openTrained(const ArtifactOptions &options, const std::string &checkpoint, Profile *profile) {
  HEDDLE_ASSIGN(Tokenizer tokenizer, loadTokenizer(checkpoint));
  HEDDLE_ASSIGN(std::unique_ptr<SessionEngine> engine, openEngine(options, profile));
  HEDDLE_ASSIGN(ModelDescription description, ModelDescription::parse(engine->description()));
  HEDDLE_CHECK(checkVocabulary(tokenizer, description));
  HEDDLE_ASSIGN(std::optional<uint64_t> step, loadWeights(checkpoint, *engine, description));
  log(LogLevel::Info, str("checkpoint ", checkpoint, " ", describeWeights(step)));
  return TrainedModel{std::move(engine), std::move(description), std::move(tokenizer), step};
}

} // namespace heddle::run
