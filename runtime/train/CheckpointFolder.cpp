#include "runtime/train/CheckpointFolder.h"

#include "runtime/core/Span.h"
#include "runtime/train/FolderLock.h"
#include "runtime/train/FolderSync.h"

#include <algorithm>
#include <cstdio>

namespace heddle {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-", kUnfinished = ".tmp";
constexpr const char *kBest = "best";

std::string nameOf(uint64_t step) {
  char name[32];
  std::snprintf(name, sizeof name, "step-%08llu", static_cast<unsigned long long>(step));
  return name;
}

bool isStepName(std::string_view name) {
  return name.starts_with(kPrefix) && name.size() > kPrefix.size() &&
         name.find_first_not_of("0123456789", kPrefix.size()) == std::string_view::npos;
}

// Renames a checkpoint before deleting its files, so that a killed program never leaves an incomplete checkpoint under
// a valid name.
Status removeCheckpoint(const fs::path &checkpoint) {
  fs::path unfinished = checkpoint;
  unfinished += kUnfinished;
  std::error_code error;
  fs::remove_all(unfinished, error);
  fs::rename(checkpoint, unfinished, error);
  if (!error)
    fs::remove_all(unfinished, error);
  return error ? Status(systemError("cannot remove the old checkpoint", checkpoint, error)) : Success();
}

void removeUnfinished(const fs::path &folder) {
  std::error_code error;
  std::vector<fs::path> found;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (name.ends_with(kUnfinished) && isStepName(std::string_view(name).substr(0, name.size() - kUnfinished.size())))
      found.push_back(entry->path());
  }
  for (const fs::path &path : found)
    fs::remove_all(path, error);
}

// Replaces the link atomically, by a rename.
Status pointBestTo(const fs::path &folder, const std::string &name) {
  fs::path link = folder / kBest, fresh = link;
  fresh += kUnfinished;
  std::error_code error;
  fs::remove(fresh, error);
  fs::create_symlink(name, fresh, error);
  if (!error)
    fs::rename(fresh, link, error);
  return error ? Status(systemError("cannot write the link", link, error)) : syncFolder(folder);
}

} // namespace

std::vector<fs::path> listCheckpoints(const fs::path &folder) {
  std::vector<std::pair<uint64_t, fs::path>> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (std::string name = entry->path().filename().string(); isStepName(name))
      found.emplace_back(std::strtoull(name.c_str() + kPrefix.size(), nullptr, 10), entry->path());
  std::sort(found.begin(), found.end());
  std::vector<fs::path> result;
  for (auto &[step, path] : found)
    result.push_back(std::move(path));
  return result;
}

Result<fs::path> findCheckpoint(const fs::path &folder) {
  std::error_code error;
  if (std::vector<fs::path> steps = listCheckpoints(folder);
      !steps.empty() && !fs::exists(folder / "manifest.json", error))
    return steps.back();
  HEDDLE_CHECK(Manifest::read(folder)); // its error says what is wrong
  return folder;
}

Status checkOutput(const fs::path &output) {
  std::error_code error;
  fs::path place = plainPath(output), parent = place.parent_path();
  if (fs::exists(place, error))
    return makeError(ErrorKind::InvalidArgument, "'", output.string(), "' exists; give a new name.");
  std::string whole = place.filename().string();
  std::string_view name = whole;
  if (name.ends_with(kUnfinished))
    name.remove_suffix(kUnfinished.size());
  bool isRun = !listCheckpoints(parent).empty() || fs::exists(parent / FolderLock::kFile, error);
  if (isRun && (isStepName(name) || name == kBest || name == FolderLock::kFile))
    return makeError(ErrorKind::InvalidArgument, "'", output.string(), "' is a name that the training run in '",
                     parent.string(), "' gives itself; give another name.");
  for (fs::path above = parent; above.has_relative_path(); above = above.parent_path())
    if (fs::exists(above / "manifest.json", error))
      return makeError(ErrorKind::InvalidArgument, "'", output.string(), "' lies within the checkpoint '",
                       above.string(), "', which would be removed with it; name a place beside the checkpoint.");
  return Success();
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
      return systemError("cannot set aside the training", place, error);
    return free;
  }
}

Status CheckpointFolder::open(bool isFresh) const {
  fs::path place = plainPath(folder), probe = place / (std::string(kPrefix) + "0" + std::string(kUnfinished));
  if (std::vector<fs::path> before = listCheckpoints(place); isFresh && !before.empty())
    return makeError(ErrorKind::InvalidArgument, "'", folder.string(),
                     "' holds a training run, whose last checkpoint is '", before.back().string(),
                     "': resume it, set its folder aside, or name another folder.");
  std::error_code error;
  fs::create_directories(place, error);
  if (error)
    return systemError("cannot create the checkpoint folder", place, error);
  // If the program is killed before it removes the probe, the next save removes it as an unfinished checkpoint.
  fs::create_directory(probe, error);
  if (error)
    return systemError("cannot write to the checkpoint folder", place, error);
  fs::remove(probe, error);
  return Success();
}

Status CheckpointFolder::save(Engine &engine, const TextCodec &vocabulary, const Manifest &manifest) {
  Span span("save checkpoint");
  span.with("step", int64_t(manifest.step));
  fs::path place = plainPath(folder);
  removeUnfinished(place);
  std::string name = nameOf(manifest.step);
  std::error_code error;
  if (fs::exists(place / name, error))
    HEDDLE_CHECK(removeCheckpoint(place / name));
  if (Status status = writeCheckpoint(place / name, engine, vocabulary, manifest); !status.ok()) {
    std::vector<fs::path> before = listCheckpoints(place);
    std::string kept = before.empty() ? "No earlier checkpoint exists."
                                      : str("The checkpoint before it is whole: '", before.back().string(), "'.");
    return makeError(status.error().kind, "the checkpoint of step ", manifest.step,
                     " could not be written: ", status.message(), " ", kept);
  }
  // This also repairs the link if an earlier save was killed before it got here.
  std::string best = fs::read_symlink(place / kBest, error).filename().string();
  if (std::string now = nameOf(manifest.validation.bestStep);
      manifest.validation.bestLoss && best != now && fs::exists(place / now, error)) {
    HEDDLE_CHECK(pointBestTo(place, now));
    best = now;
  }

  std::vector<fs::path> all = listCheckpoints(place);
  for (size_t i = 0; i + std::max<uint64_t>(1, keepLast) < all.size(); ++i)
    if (all[i].filename() != best && all[i].filename() != name)
      HEDDLE_CHECK(removeCheckpoint(all[i]));
  return Success();
}

} // namespace heddle
