#include "tools/heddle-run/model/Checkpoint.h"

#include "runtime/core/File.h"
#include "tools/heddle-run/model/HuggingFace.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace heddle::run {
namespace {

namespace fs = std::filesystem;

constexpr const char *kWeightsFile = "weights.safetensors";
constexpr const char *kOptimizerFile = "optimizer.safetensors";
constexpr const char *kManifestFile = "manifest.json";
constexpr std::array kFiles = {kWeightsFile, kOptimizerFile, kManifestFile};

constexpr const char *kFormat = "heddle-checkpoint";
constexpr uint64_t kFormatVersion = 1;
constexpr uint64_t kManifestLimit = 1 << 20;

const VariableKinds kOptimizerKinds = {VariableKind::OptimizerState, VariableKind::Counter};

Error systemError(std::string_view what, const fs::path &path, std::error_code error) {
  return makeError(ErrorKind::Io, what, " '", path.string(), "': ", error.message(), ".");
}

// "ck/" and "ck" are one folder, and a link stays one: its target is replaced.
fs::path plainPath(const fs::path &folder) {
  std::error_code error;
  fs::path absolute =
      fs::absolute(folder, error); // for a path that does not exist weakly_canonical() may stay relative
  fs::path path = fs::weakly_canonical(absolute, error);
  if (error)
    path = absolute;
  return path.has_filename() ? path : path.parent_path();
}

Status syncFolder(const fs::path &folder) {
  int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0 || ::fsync(descriptor) != 0) {
    std::error_code error(errno, std::generic_category());
    if (descriptor >= 0)
      ::close(descriptor);
    return systemError("cannot make durable", folder, error);
  }
  ::close(descriptor);
  return Success();
}

Status writeFile(const fs::path &path, std::string_view text) {
  HEDDLE_ASSIGN(AtomicFile file, AtomicFile::create(path));
  HEDDLE_CHECK(file.write(std::as_bytes(std::span(text))));
  return file.commit();
}

bool isCheckpointFile(const fs::path &name) {
  for (const char *file : kFiles)
    if (name == file)
      return true;
  return std::ranges::any_of(Tokenizer::kFileNames, [&](std::string_view file) { return name == file; });
}

// Whatever else a user keeps in the folder, such as the log, belongs to the folder and not to one checkpoint.
Status moveForeignFiles(const fs::path &from, const fs::path &to) {
  std::error_code error;
  for (fs::directory_iterator entry(from, error), end; !error && entry != end; entry.increment(error)) {
    fs::path name = entry->path().filename();
    if (isCheckpointFile(name))
      continue;
    std::error_code renaming;
    fs::rename(entry->path(), to / name, renaming);
    if (renaming)
      return systemError("cannot move along", entry->path(), renaming);
  }
  if (error)
    return systemError("cannot list", from, error);
  return Success();
}

// Exchanges two folders in one step where the file system can, so that no moment is without a checkpoint.
Status exchange(const fs::path &a, const fs::path &b) {
#if defined(RENAME_EXCHANGE)
  if (::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0)
    return Success();
  if (errno != EINVAL && errno != ENOSYS)
    return systemError("cannot put the checkpoint into place at", b, {errno, std::generic_category()});
#endif
  fs::path aside = a;
  aside += ".old";
  std::error_code error;
  fs::rename(b, aside, error);
  if (!error)
    fs::rename(a, b, error);
  if (!error)
    fs::rename(aside, a, error);
  if (error)
    return systemError("cannot put the checkpoint into place at", b, error);
  return Success();
}

} // namespace

std::string Manifest::toJson() const {
  ModelDescription model;
  model.json = description;
  nlohmann::ordered_json json = {{"format", kFormat},
                                 {"version", kFormatVersion},
                                 {"step", step},
                                 {"seed", seed},
                                 {"data", {{"epoch", cursor.epoch}, {"next", cursor.next}, {"hash", dataFingerprint}}},
                                 {"description_hash", model.hash()},
                                 {"description", description}};
  return json.dump(2) + "\n";
}

Result<Manifest> Manifest::read(const fs::path &folder) {
  fs::path path = folder / kManifestFile;
  std::error_code error;
  if (!fs::exists(path, error))
    return makeError(ErrorKind::NotFound, "'", folder.string(), "' holds no checkpoint: there is no ", kManifestFile,
                     " in it. `heddle-run train` writes one.");
  HEDDLE_ASSIGN(std::vector<std::byte> bytes, readFile(path, kManifestLimit));
  nlohmann::json json = nlohmann::json::parse(reinterpret_cast<const char *>(bytes.data()),
                                              reinterpret_cast<const char *>(bytes.data()) + bytes.size(), nullptr,
                                              /*allow_exceptions=*/false);
  auto damaged = [&](std::string_view what) {
    return makeError(ErrorKind::Malformed, "'", path.string(), "' ", what, "; use another checkpoint.");
  };
  if (!json.is_object() || json.value("format", nlohmann::json()) != kFormat)
    return damaged("is no manifest of a checkpoint");
  if (json.value("version", nlohmann::json()) != kFormatVersion)
    return damaged(str("is of version ", json.value("version", nlohmann::json()).dump(), ", and this heddle-run knows ",
                       kFormatVersion, " only"));

  Manifest manifest;
  nlohmann::json data = json.value("data", nlohmann::json());
  const std::tuple<const nlohmann::json *, const char *, uint64_t *> numbers[] = {
      {&json, "step", &manifest.step},
      {&json, "seed", &manifest.seed},
      {&data, "epoch", &manifest.cursor.epoch},
      {&data, "next", &manifest.cursor.next}};
  for (auto [object, key, value] : numbers) {
    if (!object->is_object() || !object->contains(key) || !object->at(key).is_number_unsigned())
      return damaged(str("lacks the number '", key, "'"));
    *value = object->at(key).get<uint64_t>();
  }
  if (!data.contains("hash") || !data["hash"].is_string() || !json.contains("description") ||
      !json["description"].is_object())
    return damaged("lacks 'data.hash' or 'description'");
  manifest.dataFingerprint = data["hash"].get<std::string>();
  manifest.description = json["description"];
  return manifest;
}

bool holdsCheckpoint(const fs::path &folder) {
  std::error_code error;
  return fs::exists(folder / kManifestFile, error) || fs::exists(folder / kWeightsFile, error);
}

Status saveCheckpoint(const fs::path &folder, Engine &engine, const Tokenizer &tokenizer, const Manifest &manifest) {
  fs::path place = plainPath(folder);
  fs::path temporary = place;
  temporary += ".tmp";
  std::error_code error;
  if (fs::exists(temporary, error)) {
    // A save was killed in its middle, perhaps before it moved the folder's other files.
    if (fs::exists(place, error))
      HEDDLE_CHECK(moveForeignFiles(temporary, place));
    fs::remove_all(temporary, error);
  }
  fs::create_directories(temporary, error);
  if (error)
    return systemError("cannot create the checkpoint folder", temporary, error);

  auto write = [&]() -> Status {
    HEDDLE_CHECK(engine.save(temporary / kWeightsFile, kWeightsOnly));
    HEDDLE_CHECK(engine.save(temporary / kOptimizerFile, kOptimizerKinds));
    for (const TokenizerFile &file : tokenizer.files())
      HEDDLE_CHECK(writeFile(temporary / file.name, file.bytes));
    HEDDLE_CHECK(writeFile(temporary / kManifestFile, manifest.toJson()));
    return syncFolder(temporary);
  };
  if (Status status = write(); !status.ok()) {
    fs::remove_all(temporary, error);
    return std::move(status).error().within(str("the checkpoint of step ", manifest.step));
  }

  if (!fs::exists(place, error)) {
    fs::rename(temporary, place, error);
    if (error)
      return systemError("cannot put the checkpoint into place at", place, error);
    return syncFolder(place.parent_path());
  }
  HEDDLE_CHECK(exchange(temporary, place));
  HEDDLE_CHECK(syncFolder(place.parent_path()));
  HEDDLE_CHECK(moveForeignFiles(temporary, place));
  fs::remove_all(temporary, error);
  return Success();
}

Result<Manifest> loadCheckpoint(const fs::path &folder, Engine &engine, const ModelDescription &model,
                                CheckpointUse use) {
  HEDDLE_ASSIGN(Manifest manifest, Manifest::read(folder));
  if (auto different = differences(manifest.description, model.json, /*functionOnly=*/true); !different.empty()) {
    std::string list;
    for (const std::string &difference : different)
      list += (list.empty() ? "" : ", ") + difference;
    return makeError(ErrorKind::InvalidArgument, "the checkpoint '", folder.string(),
                     "' was trained with another model: ", list, ". Use the artifact that it was trained with.");
  }
  HEDDLE_CHECK(engine.load(folder / kWeightsFile, kWeightsOnly));
  if (use == CheckpointUse::Training)
    HEDDLE_CHECK(engine.load(folder / kOptimizerFile, kOptimizerKinds));
  return manifest;
}

Result<std::string> loadWeights(const fs::path &folder, Engine &engine, const ModelDescription &model) {
  if (isHuggingFaceFolder(folder)) {
    auto write = [&](std::string_view name, const TensorView &value) { return engine.writeVariable(name, value); };
    HEDDLE_CHECK(loadHuggingFaceWeights(folder, engine.description(), write));
    return std::string("as published");
  }
  HEDDLE_ASSIGN(Manifest manifest, loadCheckpoint(folder, engine, model, CheckpointUse::Weights));
  return str("of step ", manifest.step);
}

Result<fs::path> setAside(const fs::path &folder) {
  fs::path place = plainPath(folder);
  std::error_code error;
  for (int number = 1;; ++number) {
    fs::path free = place;
    free += str(".", number);
    if (fs::exists(free, error))
      continue;
    fs::rename(place, free, error);
    if (error)
      return systemError("cannot set aside the checkpoint", place, error);
    return free;
  }
}

} // namespace heddle::run
