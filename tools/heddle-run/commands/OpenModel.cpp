#include "tools/heddle-run/commands/OpenModel.h"

#include "runtime/artifact/Artifact.h"
#include "runtime/core/Log.h"
#include "runtime/ranks/Ranks.h"
#include "runtime/tokenizers/LabelledVocabulary.h"
#include "runtime/train/Adapter.h"
#include "runtime/train/CheckpointFolder.h"
#include "runtime/train/ModelVocabulary.h"

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
  result.lengthPenalty = options.lengthPenalty.value_or(result.lengthPenalty);
  result.rule = options.rule;
  result.rules = {options.noRepeat.value_or(0), options.minimumLength.value_or(0)};
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
    HEDDLE_ASSIGN(model.others.emplace_back(), openEngine(each, profile));
  }
  return model;
}

Result<OpenModel> openModel(const ArtifactOptions &options, std::string_view architecture, std::string_view command,
                            Profile *profile) {
  HEDDLE_ASSIGN(OpenModel model, openModel(options, profile));
  HEDDLE_CHECK(checkArchitecture(model.description, architecture, command));
  return model;
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

Result<TrainedModel> withWeights(OpenModel model, const std::string &base, const std::string &checkpoint,
                                 bool needsVocabulary) {
  HEDDLE_CHECK(openBase(base, checkpoint, *model.engine, model.description, model.otherMeaning));
  bool lacksVocabulary = !base.empty() && isAdapter(checkpoint);
  Result<std::unique_ptr<TextCodec>> loaded =
      loadVocabulary(lacksVocabulary ? base : checkpoint, *model.engine, model.description);
  if (!loaded.ok() && !needsVocabulary && loaded.error().kind == ErrorKind::NotFound)
    loaded = std::unique_ptr<TextCodec>(std::make_unique<NoTokens>());
  HEDDLE_ASSIGN(std::unique_ptr<TextCodec> vocabulary, std::move(loaded));
  HEDDLE_CHECK(adoptVocabulary(*vocabulary, model.description));
  HEDDLE_ASSIGN(std::optional<uint64_t> step, loadTrained(checkpoint, model));
  HEDDLE_CHECK(loadOthers(base, checkpoint, model));
  return TrainedModel{std::move(model), std::move(vocabulary), step};
}

Result<TrainedModel> openTrained(const ArtifactOptions &options, const std::string &checkpoint,
                                 std::string_view architecture, std::string_view command, Profile *profile,
                                 bool needsVocabulary) {
  HEDDLE_ASSIGN(OpenModel model, openModel(options, architecture, command, profile));
  return withWeights(std::move(model), options.base, checkpoint, needsVocabulary);
}

Result<EmbeddingRule> embeddingRule(const ArtifactOptions &options, const std::string &checkpoint,
                                    const ModelDescription &model) {
  return readEmbeddingRule(options.base.empty() ? checkpoint : options.base, model.architecture == kDecoderAlone);
}

} // namespace heddle::run
