#include "runtime/train/Checkpoint.h"

#include "runtime/artifact/Meaning.h"
#include "runtime/core/File.h"
#include "runtime/core/Json.h"
#include "runtime/core/Log.h"
#include "runtime/core/Safetensors.h"
#include "runtime/core/Span.h"
#include "runtime/session/PublishedCheckpoint.h"
#include "runtime/text/Hash.h"
#include "runtime/tokenizers/FolderVocabulary.h"
#include "runtime/tokenizers/LabelledVocabulary.h"
#include "runtime/train/Adapter.h"
#include "runtime/train/CheckpointFolder.h"
#include "runtime/train/FolderSync.h"

#include <cmath>
#include <cstring>

namespace heddle {
namespace {

namespace fs = std::filesystem;

constexpr const char *kManifestFile = "manifest.json";

constexpr const char *kFormat = "heddle-checkpoint";
constexpr uint64_t kFormatVersion = 2;
constexpr uint64_t kManifestLimit = 1 << 20;

const VariableKinds kOptimizerKinds = {VariableKind::OptimizerState, VariableKind::Counter};

// A diverged training run must not replace a good checkpoint.
Status checkFinite(const fs::path &path, uint64_t step) {
  HEDDLE_ASSIGN(SafetensorsReader reader, SafetensorsReader::open(path));
  std::vector<float> chunk(1 << 20);
  for (const SafetensorsEntry &entry : reader.entries()) {
    if (entry.type != ElementType::F32)
      continue;
    for (uint64_t at = 0; at < entry.bytes;) {
      auto values = std::span(chunk).first(std::min<uint64_t>(chunk.size(), (entry.bytes - at) / sizeof(float)));
      HEDDLE_CHECK(reader.read(entry, at, std::as_writable_bytes(values)));
      for (float value : values)
        if (!std::isfinite(value))
          return makeError(ErrorKind::InvalidArgument, "'", entry.name, "' holds ", value, " after step ", step,
                           ": the training has diverged in that step or a little before it. Try a lower learning_rate, "
                           "a longer warmup or clip_norm.");
      at += values.size_bytes();
    }
  }
  return Success();
}

// Reads a manifest's fields. `missing` names the first field that is missing or has another type.
class ManifestFields {
public:
  explicit ManifestFields(const nlohmann::json &json) : json(json) {}

  template <typename T> void read(const char *path, T &value) {
    const nlohmann::json::json_pointer pointer(path);
    const bool fits = json.contains(pointer) && holds(json.at(pointer), value);
    if (fits)
      value = json.at(pointer).get<T>();
    else if (missing.empty())
      missing = path + 1;
  }

  std::string missing;

private:
  static bool holds(const nlohmann::json &item, uint64_t) { return item.is_number_unsigned(); }
  static bool holds(const nlohmann::json &item, const std::string &) { return item.is_string(); }
  static bool holds(const nlohmann::json &item, const nlohmann::json &) { return item.is_object(); }

  const nlohmann::json &json;
};

Error damaged(const fs::path &path, std::string_view what) {
  return makeError(ErrorKind::Malformed, "'", path.string(), "' ", what, "; use another checkpoint.");
}

} // namespace

bool ValidationRecord::note(uint64_t step, double loss) {
  if (bestLoss && !(loss < *bestLoss)) {
    ++sinceBest;
    return false;
  }
  bestLoss = loss;
  bestStep = step;
  sinceBest = 0;
  return true;
}

std::string Manifest::toJson() const {
  nlohmann::ordered_json json = {
      {"format", kFormat},
      {"version", kFormatVersion},
      {"step", step},
      {"seed", seed},
      {"data",
       {{"epoch", cursor.epoch}, {"window", cursor.window}, {"batch", cursor.batch}, {"hash", dataFingerprint}}},
      {"batching", batching},
      {"validation", {{"best_step", validation.bestStep}, {"since_best", validation.sinceBest}}},
      {"artifact", hexadecimal(artifactSeal)},
      {"description", description},
      {"files", files}};
  if (validation.bestLoss)
    json["validation"]["best_loss"] = *validation.bestLoss;
  if (!averaged.empty())
    json["averaged"] = averaged;
  if (averagedSteps != 0)
    json["averaged_over_steps"] = averagedSteps;
  if (!baseHash.empty())
    json["base"] = {{"place", base}, {"hash", baseHash}};
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"; // paths may not be UTF-8
}

Result<Manifest> Manifest::read(const fs::path &folder) {
  fs::path path = folder / kManifestFile;
  std::error_code error;
  if (!fs::exists(path, error)) {
    if (Status status = requireFolder(folder); !status.ok())
      return std::move(status).error().within("no checkpoint can be read");
    return makeError(ErrorKind::NotFound, "'", folder.string(), "' holds no checkpoint: there is no ", kManifestFile,
                     " in it. `heddle-run train` writes checkpoints.");
  }
  HEDDLE_ASSIGN(std::vector<std::byte> bytes, readFile(path, kManifestLimit));
  std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  HEDDLE_ASSIGN(nlohmann::json json, parseJson(text, str("'", path.string(), "'")));
  if (!json.is_object() || json.value("format", nlohmann::json()) != kFormat)
    return damaged(path, "is not the manifest of a checkpoint");
  if (json.value("version", nlohmann::json()) != kFormatVersion)
    return damaged(path, str("is of version ", json.value("version", nlohmann::json()).dump(),
                             ", and this heddle-run knows ", kFormatVersion, " only"));

  Manifest manifest;
  ManifestFields fields(json);
  nlohmann::json files;
  std::string seal;
  fields.read("/step", manifest.step);
  fields.read("/seed", manifest.seed);
  fields.read("/data/epoch", manifest.cursor.epoch);
  fields.read("/data/window", manifest.cursor.window);
  fields.read("/data/batch", manifest.cursor.batch);
  fields.read("/data/hash", manifest.dataFingerprint);
  fields.read("/batching", manifest.batching);
  fields.read("/validation/best_step", manifest.validation.bestStep);
  fields.read("/validation/since_best", manifest.validation.sinceBest);
  fields.read("/artifact", seal);
  fields.read("/description", manifest.description);
  fields.read("/files", files);
  if (!fields.missing.empty())
    return damaged(path, str("lacks '", fields.missing, "', or has another kind of value there"));
  manifest.artifactSeal = std::strtoull(seal.c_str(), nullptr, 16);
  if (auto loss = json["validation"].find("best_loss"); loss != json["validation"].end() && loss->is_number())
    manifest.validation.bestLoss = loss->get<double>();
  if (auto base = json.find("base"); base != json.end() && base->is_object()) { // manifests of earlier versions lack it
    auto text = [&](const char *key) {
      auto found = base->find(key);
      return found != base->end() && found->is_string() ? found->get<std::string>() : std::string();
    };
    manifest.base = text("place");
    manifest.baseHash = text("hash");
  }
  for (const auto &[name, hash] : files.items())
    if (hash.is_string())
      manifest.files[name] = hash.get<std::string>();
  return manifest;
}

Status writeCheckpoint(const fs::path &folder, std::span<const char *const> tensorFiles,
                       const std::function<Status(const fs::path &)> &writeTensors, const TextCodec &vocabulary,
                       Manifest manifest) {
  fs::path temporary = folder;
  temporary += ".tmp";
  std::error_code error;
  fs::remove_all(temporary, error); // left by a killed save
  fs::create_directories(temporary, error);
  if (error)
    return systemError("cannot create the checkpoint folder", temporary, error);

  auto write = [&]() -> Status {
    HEDDLE_CHECK(writeTensors(temporary));
    manifest.files.clear();
    Span span("check and hash files");
    for (const char *name : tensorFiles)
      HEDDLE_CHECK(checkFinite(temporary / name, manifest.step));
    std::vector<std::string> names(tensorFiles.begin(), tensorFiles.end());
    for (const TokenizerFile &file : vocabulary.files()) {
      HEDDLE_CHECK(writeFile(temporary / file.name, file.bytes));
      names.push_back(file.name);
    }
    for (const std::string &name : names) {
      HEDDLE_ASSIGN(manifest.files[name], hashFile(temporary / name));
    }
    HEDDLE_CHECK(writeFile(temporary / kManifestFile, manifest.toJson()));
    HEDDLE_CHECK(syncFolder(temporary));
    fs::rename(temporary, folder, error);
    if (error)
      return systemError("cannot put the checkpoint into place at", folder, error);
    return syncFolder(folder.parent_path());
  };
  Status status = write();
  if (!status.ok())
    fs::remove_all(temporary, error);
  return status;
}

Status writePeftFiles(const fs::path &folder, const Manifest &manifest) {
  if (!manifest.description.contains("adapter"))
    return Success();
  HEDDLE_ASSIGN(Description model, Description::parse(manifest.description.dump()));
  HEDDLE_CHECK(writePeftAdapter(folder / kWeightsFile, folder, model, manifest.base));
  return Success();
}

Status writeCheckpoint(const fs::path &folder, Engine &engine, const TextCodec &vocabulary, Manifest manifest) {
  const char *const files[] = {kWeightsFile, kOptimizerFile};
  auto save = [&](const fs::path &into) -> Status {
    HEDDLE_CHECK(engine.save(into / kWeightsFile, kWeightsOnly));
    HEDDLE_CHECK(writePeftFiles(into, manifest)); // in addition to the files for resuming
    return engine.save(into / kOptimizerFile, kOptimizerKinds);
  };
  // Passes a copy of the manifest, because `save` reads it.
  return writeCheckpoint(folder, files, save, vocabulary, manifest);
}

Status takePartInWriting(Engine &engine) { return engine.takePartInSave(kOptimizerKinds); }

// Reads the manifest, and refuses or warns if the checkpoint's model computes something else than `model`.
static Result<Manifest> readManifest(const fs::path &folder, nlohmann::json model, OtherMeaning others) {
  HEDDLE_ASSIGN(Manifest manifest, Manifest::read(folder));
  if (auto different = differences(manifest.description, model, /*functionOnly=*/true); !different.empty()) {
    std::string list;
    for (const std::string &difference : different)
      list += (list.empty() ? "" : ", ") + difference;
    if (others == OtherMeaning::Refuse)
      return makeError(ErrorKind::InvalidArgument, "the checkpoint '", folder.string(),
                       "' was trained with another model: ", list,
                       ". Use the artifact that it was trained with; --force loads it all the same.");
    log(LogLevel::Warning, str("the checkpoint '", folder.string(), "' was trained with another model: ", list));
  } else if (!sayMeaning(manifest.description, model) && model.contains("meaning")) {
    log(LogLevel::Warning, str("the checkpoint '", folder.string(),
                               "' is of an earlier version and does not say all of the model that it was trained with: "
                               "only a part is compared with the artifact's"));
  }
  return manifest;
}

Result<Manifest> loadCheckpoint(const fs::path &folder, Engine &engine, const ModelDescription &model,
                                CheckpointUse use, OtherMeaning others) {
  HEDDLE_ASSIGN(Manifest manifest, readManifest(folder, model.json, others));
  HEDDLE_CHECK(checkFile(folder, kWeightsFile, manifest));
  if (use == CheckpointUse::Training)
    HEDDLE_CHECK(checkFile(folder, kOptimizerFile, manifest));
  HEDDLE_CHECK(engine.load(folder / kWeightsFile, kWeightsOnly));
  if (use == CheckpointUse::Training)
    HEDDLE_CHECK(engine.load(folder / kOptimizerFile, kOptimizerKinds));
  return manifest;
}

bool isWeightsFile(const fs::path &path) {
  std::error_code error;
  return path.extension() == ".safetensors" && fs::is_regular_file(path, error);
}

// Loads a weights file, whose tensors have the artifact's names or the published model's.
static Status loadFile(const fs::path &path, Engine &engine, const VariableKinds &kinds, OtherMeaning others) {
  HEDDLE_ASSIGN(SafetensorsReader reader, SafetensorsReader::open(path, OtherTypes::PassOver));
  bool hasOwnNames = std::ranges::any_of(
      engine.variables(), [&](const VariableInfo &variable) { return reader.find(variable.name) != nullptr; });
  HEDDLE_ASSIGN(Description model, Description::parse(engine.description()));
  if (!hasOwnNames && !model.tensors.empty()) {
    auto write = [&](std::string_view name, const TensorView &value) { return engine.writeVariable(name, value); };
    HEDDLE_CHECK(loadPublishedWeights(path, engine.description(), weightSink(engine.variables(), write), others));
    return clearAdapter(engine);
  }
  log(LogLevel::Warning, str("'", path.string(),
                             "' does not say which model its weights are of: only names and shapes "
                             "are compared with the artifact's"));
  return engine.load(path, kinds);
}

Result<std::optional<uint64_t>> loadWeights(const fs::path &folder, Engine &engine, const ModelDescription &model,
                                            OtherMeaning others, std::vector<std::string> *fresh) {
  Span span("load weights");
  if (isAdapter(folder)) {
    HEDDLE_CHECK(loadAdapter(folder, engine));
    return std::optional<uint64_t>();
  }
  if (isPublishedModel(folder)) {
    auto write = [&](std::string_view name, const TensorView &value) { return engine.writeVariable(name, value); };
    WeightSink sink = weightSink(engine.variables(), write);
    if (fresh)
      sink.lacks = [fresh](std::string_view name) { fresh->emplace_back(name); };
    HEDDLE_CHECK(loadPublishedWeights(folder, engine.description(), sink, others));
    HEDDLE_CHECK(clearAdapter(engine));
    return std::optional<uint64_t>();
  }
  if (isWeightsFile(folder)) {
    HEDDLE_CHECK(loadFile(folder, engine, kWeightsOnly, others));
    return std::optional<uint64_t>();
  }
  HEDDLE_ASSIGN(fs::path checkpoint, findCheckpoint(folder));
  HEDDLE_ASSIGN(Manifest manifest, loadCheckpoint(checkpoint, engine, model, CheckpointUse::Weights, others));
  return std::optional(manifest.step);
}

bool isFrozen(const Engine &engine) {
  return std::ranges::any_of(engine.variables(),
                             [](const VariableInfo &variable) { return variable.kind == VariableKind::Frozen; });
}

Result<std::string> hashFrozen(Engine &engine) {
  if (!isFrozen(engine))
    return std::string();
  Span span("hash base");
  ContentHash hash;
  for (const VariableInfo &variable : engine.variables())
    if (variable.kind == VariableKind::Frozen) {
      HEDDLE_ASSIGN(HostTensor value, engine.readVariable(variable.name));
      hash.add({reinterpret_cast<const char *>(value.bytes().data()), value.bytes().size()});
    }
  return hash.hexadecimal();
}

Status loadBase(const fs::path &folder, Engine &engine, const ModelDescription &model, OtherMeaning others) {
  Span span("load base");
  if (folder.empty())
    return makeError(ErrorKind::InvalidArgument,
                     "the artifact was compiled with --lora: it trains an adapter to a model whose "
                     "weights stay as they are. Name that model's folder by --base=FOLDER.");
  if (isPublishedModel(folder)) {
    auto write = [&](std::string_view name, const TensorView &value) { return engine.writeVariable(name, value); };
    return loadPublishedWeights(folder, engine.description(), weightSink(engine.variables(), write), others);
  }
  const VariableKinds frozen = {VariableKind::Frozen};
  fs::path file = folder;
  if (isWeightsFile(folder)) {
    HEDDLE_CHECK(loadFile(folder, engine, frozen, others));
  } else {
    HEDDLE_ASSIGN(fs::path checkpoint, findCheckpoint(folder));
    nlohmann::json without = model.json;
    without.erase("adapter");
    HEDDLE_ASSIGN(Manifest manifest, readManifest(checkpoint, without, others));
    HEDDLE_CHECK(checkFile(checkpoint, kWeightsFile, manifest));
    file = checkpoint / kWeightsFile;
    HEDDLE_CHECK(engine.load(file, frozen));
  }
  HEDDLE_ASSIGN(SafetensorsReader reader, SafetensorsReader::open(file, OtherTypes::PassOver));
  for (const std::string &name : weightsBesideAdapters(engine)) { // their initial values come from the base
    if (!reader.find(name))                                       // loadFile() has loaded them from published names
      continue;
    HEDDLE_ASSIGN(HostTensor value, reader.read(name));
    HEDDLE_CHECK(engine.writeVariable(name, value));
  }
  return Success();
}

Result<bool> needsBase(const std::string &base, const std::string &checkpoint, const Engine &engine) {
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

Status openBase(const std::string &base, const std::string &checkpoint, Engine &engine,
                const ModelDescription &description, OtherMeaning others) {
  HEDDLE_ASSIGN(bool needed, needsBase(base, checkpoint, engine));
  if (!needed)
    return Success();
  HEDDLE_CHECK(loadBase(base, engine, description, others));
  log(LogLevel::Info, str("base ", base));
  return Success();
}

std::string describeWeights(std::optional<uint64_t> step) { return step ? str("of step ", *step) : "as published"; }

Status checkFile(const fs::path &folder, const char *name, const Manifest &manifest) {
  HEDDLE_ASSIGN(std::string hash, hashFile(folder / name));
  auto recorded = manifest.files.find(name);
  if (recorded == manifest.files.end() || recorded->second != hash)
    return damaged(folder / name, "is damaged: its hash is not the hash in the manifest");
  return Success();
}

std::map<std::string, std::string> vocabularyFiles(const Manifest &manifest) {
  std::map<std::string, std::string> files = manifest.files;
  files.erase(kWeightsFile);
  files.erase(kOptimizerFile);
  return files;
}

Result<std::unique_ptr<TextCodec>> loadCheckpointVocabulary(const fs::path &folder) {
  HEDDLE_ASSIGN(fs::path checkpoint, findCheckpoint(folder));
  HEDDLE_ASSIGN(Manifest manifest, Manifest::read(checkpoint));
  auto files = vocabularyFiles(manifest);
  for (const auto &[name, hash] : files)
    HEDDLE_CHECK(checkFile(checkpoint, name.c_str(), manifest));
  std::unique_ptr<TextCodec> vocabulary;
  if (files.size() == 1 && files.contains(kLabelsFile)) {
    vocabulary = std::make_unique<NoTokens>();
  } else {
    auto isPart = [&](std::string_view name) { return files.contains(std::string(name)); };
    HEDDLE_ASSIGN(vocabulary, loadFolderVocabulary(checkpoint, isPart));
    for (const TokenizerFile &file : vocabulary->files())
      if (!isPart(file.name))
        return damaged(checkpoint / file.name, "is no file of this checkpoint: the manifest has no hash of it");
  }
  if (files.contains(kLabelsFile))
    return LabelledVocabulary::load(std::move(vocabulary), checkpoint);
  return vocabulary;
}

Result<std::unique_ptr<TextCodec>> openVocabulary(const fs::path &place) {
  std::error_code error;
  bool isCheckpoint = fs::exists(place / kManifestFile, error) || !listCheckpoints(place).empty();
  return isCheckpoint ? loadCheckpointVocabulary(place) : loadFolderVocabulary(place);
}

} // namespace heddle
