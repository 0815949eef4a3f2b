#include "tools/heddle-run/commands/Opening.h"

#include "runtime/artifact/Artifact.h"
#include "runtime/core/Log.h"
#include "runtime/published/PublishedWeights.h"
#include "runtime/ranks/Ranks.h"
#include "runtime/tokenizers/PublishedVocabulary.h"
#include "runtime/tokenizers/Tokenizer.h"
#include "runtime/train/Adapter.h"
#include "runtime/train/CheckpointFolder.h"

#include <algorithm>

namespace heddle::run {

static std::string backendOf(const std::string &id) { return id.substr(0, id.find(':')); }

// Returns the ids of the usable devices of the same kind as `opened`, itself included.
static Result<std::vector<std::string>> devicesLike(const hal::DeviceInfo &opened) {
  HEDDLE_ASSIGN(std::vector<hal::DeviceInfo> devices, hal::listDevices());
  std::vector<std::string> alike;
  for (const hal::DeviceInfo &device : devices)
    if (device.unusable.empty() && device.type == opened.type && backendOf(device.id) == backendOf(opened.id))
      alike.push_back(device.id);
  if (alike.empty())
    alike.push_back(opened.id);
  return alike;
}

// Chooses a device for the rank that is the `number`th on its machine. Ranks take turns at the devices of the same kind
// as the backend's best, or as the named one. No device is opened here, as a GPU may be reserved for one process.
static Result<std::string> deviceOfRank(const std::string &choice, uint32_t number) {
  HEDDLE_ASSIGN(std::vector<hal::DeviceInfo> devices, hal::listDevices());
  std::erase_if(devices, [&](const hal::DeviceInfo &device) {
    return !device.unusable.empty() || backendOf(device.id) != backendOf(choice);
  });
  auto worth = [&](const hal::DeviceInfo &device) { // ranks devices as backends do, but prefers a named device
    if (device.id == choice)
      return 4;
    return device.type == hal::DeviceType::DiscreteGpu ? 3 : device.type == hal::DeviceType::Cpu ? 1 : 2;
  };
  auto best = std::ranges::max_element(devices, {}, worth);
  if (best == devices.end())
    return choice; // opening it fails with an error that says what is wrong
  HEDDLE_ASSIGN(std::vector<std::string> alike, devicesLike(*best));
  return alike[number % alike.size()];
}

std::vector<std::filesystem::path> filesRead(const ArtifactOptions &options,
                                             const std::vector<std::filesystem::path> &others,
                                             std::initializer_list<const TextFiles *> texts) {
  std::vector<std::filesystem::path> read = {options.artifact, options.base};
  read.insert(read.end(), others.begin(), others.end());
  for (const TextFiles *files : texts)
    read.insert(read.end(), {files->source, files->target, files->text, files->data});
  return read;
}

Result<std::unique_ptr<SessionEngine>> openEngine(const ArtifactOptions &options, Profile *profile, Ranks *ranks) {
  SessionOptions session;
  session.device = options.device;
  session.nativeCode = !options.refuseNativeCode;
  session.checkNumbers = options.debugNumerics;
  session.collectives = ranks;
  HEDDLE_ASSIGN(std::shared_ptr<const Artifact> artifact, Artifact::load(options.artifact));
  if (ranks && options.device.find(':') == std::string::npos) {
    std::string choice = options.device.empty() ? chooseDevice(*artifact, "", session.nativeCode) : options.device;
    HEDDLE_ASSIGN(session.device, deviceOfRank(choice, ranks->others().localRank()));
  }
  HEDDLE_ASSIGN(std::unique_ptr<Session> opened, Session::open(std::move(artifact), session));
  const hal::DeviceInfo &device = opened->device();
  log(LogLevel::Info, str("device ", device.id, ": ", device.name, ", ", device.driver, "; target ", opened->target()));
  auto engine = std::make_unique<SessionEngine>(std::move(opened));
  if (profile)
    engine->runEntry = [profile](Session &session, std::string_view entry, std::span<const Input> inputs) {
      return profile->isRecording() ? profile->run(session, entry, inputs) : session.run(entry, inputs);
    };
  return engine;
}

Result<std::unique_ptr<TextCodec>> embeddedVocabulary(SessionEngine &engine) {
  const Artifact &artifact = engine.onDevice().artifact();
  const auto *vocabulary = artifact.module().vocabulary();
  if (!vocabulary)
    return std::unique_ptr<TextCodec>();
  std::vector<TokenizerFile> files;
  for (const schema::VocabularyFile *file : *vocabulary)
    files.push_back({file->name()->str(), std::string(file->bytes()->begin(), file->bytes()->end())});
  HEDDLE_ASSIGN(Tokenizer tokenizer, Tokenizer::fromFiles(files, artifact.origin()));
  return std::make_unique<Tokenizer>(std::move(tokenizer));
}

namespace {

// Loads a published model's vocabulary: like GPT-2's or LLaMA's for a decoder alone, Marian's for any other model.
Result<std::unique_ptr<TextCodec>> publishedVocabulary(const std::filesystem::path &folder,
                                                       const ModelDescription &description) {
  if (description.architecture == kDecoderAlone) {
    HEDDLE_ASSIGN(PublishedVocabulary published, PublishedVocabulary::load(folder));
    return std::make_unique<PublishedVocabulary>(std::move(published));
  }
  HEDDLE_ASSIGN(Tokenizer tokenizer, Tokenizer::loadFolder(folder));
  return std::make_unique<Tokenizer>(std::move(tokenizer));
}

} // namespace

Result<std::unique_ptr<TextCodec>> loadVocabulary(const std::filesystem::path &folder, SessionEngine &engine,
                                                  const ModelDescription &description) {
  // The vocabulary may lie beside the file of weights.
  std::filesystem::path place = isWeightsFile(folder) ? std::filesystem::absolute(folder).parent_path() : folder;
  Result<std::unique_ptr<TextCodec>> own =
      isPublishedModel(place) ? publishedVocabulary(place, description) : loadCheckpointVocabulary(place);
  if (own.ok() || own.error().kind != ErrorKind::NotFound)
    return own;
  HEDDLE_ASSIGN(std::unique_ptr<TextCodec> embedded, embeddedVocabulary(engine));
  if (!embedded && isWeightsFile(folder))
    return makeError(
        ErrorKind::NotFound, "'", folder.string(),
        "' lies beside no vocabulary: name the folder that has both, or compile the model with --vocabulary.");
  return embedded ? std::move(embedded) : std::move(own);
}

Result<std::optional<SamplingOptions>> samplingOptions(const SamplingFlags &flags) {
  SamplingOptions options = flags.options;
  if (!flags.samplers.empty()) {
    Result<std::vector<Sampler>> order = parseSamplers(flags.samplers);
    if (!order)
      return std::move(order).error().within("--samplers");
    options.order = *order;
  }
  for (Sampler sampler : SamplingOptions().order)
    if (options.isSet(sampler) && std::ranges::find(options.order, sampler) == options.order.end())
      return makeError(ErrorKind::InvalidArgument, "--", toString(sampler),
                       " is given, and --samplers=", flags.samplers, " leaves it out; name it there, or leave --",
                       toString(sampler), " out.");
  return flags.sample && options.temperature > 0 ? std::optional(std::move(options)) : std::nullopt;
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

Result<OpenModel> openModel(const ArtifactOptions &options, Profile *profile) {
  ArtifactOptions each = options;
  bool all = options.devices == std::vector<std::string>{"all"};
  if (!options.devices.empty() && !all)
    each.device = options.devices.front();
  HEDDLE_ASSIGN(std::unique_ptr<SessionEngine> engine, openEngine(each, profile));
  HEDDLE_ASSIGN(ModelDescription description, ModelDescription::parse(engine->description()));
  OpenModel model{std::move(engine), std::move(description), {}, options.others};

  std::vector<std::string> devices = options.devices;
  if (all) {
    HEDDLE_ASSIGN(devices, devicesLike(model.engine->onDevice().device()));
    std::erase(devices, model.engine->onDevice().device().id);
  } else if (!devices.empty()) {
    devices.erase(devices.begin());
  }
  for (const std::string &device : devices) {
    each.device = device;
    HEDDLE_ASSIGN(std::unique_ptr<SessionEngine> other, openEngine(each, profile));
    model.others.push_back(std::move(other));
  }
  return model;
}

Result<OpenModel> openModel(const ArtifactOptions &options, std::string_view architecture, std::string_view command,
                            Profile *profile) {
  HEDDLE_ASSIGN(OpenModel model, openModel(options, profile));
  HEDDLE_CHECK(checkArchitecture(model.description, architecture, command));
  return model;
}

// Returns true if the engine needs the frozen weights from `base`. Fails if the flags do not fit the artifact.
static Result<bool> needsBase(const std::string &base, const std::string &checkpoint, const Engine &engine) {
  if (!isFrozen(engine) && isAdapter(checkpoint))
    return makeError(ErrorKind::InvalidArgument, "'", checkpoint,
                     "' is an adapter, and the artifact has no room for adapters; compile the model with --lora.");
  if (!isFrozen(engine))
    return base.empty()
               ? Result<bool>(false)
               : makeError(ErrorKind::InvalidArgument, "--base is for artifacts that were compiled with --lora; this "
                                                       "artifact's weights are all in --checkpoint.");
  return !(base.empty() && isPublishedModel(checkpoint)); // a published model without an adapter is its own base
}

static Status openBase(const std::string &base, const std::string &checkpoint, Engine &engine,
                       const ModelDescription &description, OtherMeaning others) {
  HEDDLE_ASSIGN(bool needed, needsBase(base, checkpoint, engine));
  if (!needed)
    return Success();
  HEDDLE_CHECK(loadBase(base, engine, description, others));
  log(LogLevel::Info, str("base ", base));
  return Success();
}

Status openBase(const ArtifactOptions &options, const std::string &checkpoint, Engine &engine,
                const ModelDescription &description) {
  return openBase(options.base, checkpoint, engine, description, options.others);
}

Result<std::optional<uint64_t>> loadTrained(const std::string &checkpoint, const OpenModel &model) {
  HEDDLE_ASSIGN(std::optional<uint64_t> step,
                loadWeights(checkpoint, *model.engine, model.description, model.otherMeaning));
  log(LogLevel::Info, str("checkpoint ", checkpoint, " ", describeWeights(step)));
  return step;
}

Status loadOthers(const std::string &base, const std::string &checkpoint, const OpenModel &model) {
  for (const std::unique_ptr<SessionEngine> &engine : model.others) {
    HEDDLE_ASSIGN(bool needed, needsBase(base, checkpoint, *engine));
    if (needed)
      HEDDLE_CHECK(loadBase(base, *engine, model.description, model.otherMeaning));
    HEDDLE_CHECK(loadWeights(checkpoint, *engine, model.description, model.otherMeaning));
  }
  return Success();
}

Result<TrainedModel> withWeights(OpenModel model, const std::string &base, const std::string &checkpoint) {
  HEDDLE_CHECK(openBase(base, checkpoint, *model.engine, model.description, model.otherMeaning));
  bool lacksVocabulary = !base.empty() && isAdapter(checkpoint);
  HEDDLE_ASSIGN(std::unique_ptr<TextCodec> vocabulary,
                loadVocabulary(lacksVocabulary ? base : checkpoint, *model.engine, model.description));
  HEDDLE_CHECK(adoptVocabulary(*vocabulary, model.description));
  HEDDLE_ASSIGN(std::optional<uint64_t> step, loadTrained(checkpoint, model));
  HEDDLE_CHECK(loadOthers(base, checkpoint, model));
  return TrainedModel{std::move(model), std::move(vocabulary), step};
}

Result<TrainedModel> openTrained(const ArtifactOptions &options, const std::string &checkpoint,
                                 std::string_view architecture, std::string_view command, Profile *profile) {
  HEDDLE_ASSIGN(OpenModel model, openModel(options, architecture, command, profile));
  return withWeights(std::move(model), options.base, checkpoint);
}

} // namespace heddle::run
