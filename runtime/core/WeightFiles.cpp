#include "runtime/core/WeightFiles.h"

#include "runtime/core/File.h"
#include "runtime/core/Json.h"

#include <set>
#include <string>

namespace heddle {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char *kWholeFile = "model.safetensors";
constexpr const char *kIndexFile = "model.safetensors.index.json";
constexpr const char *kTorchFile = "pytorch_model.bin";
constexpr const char *kTorchIndexFile = "pytorch_model.bin.index.json";
constexpr uint64_t kIndexLimit = 64 << 20;

Result<std::vector<fs::path>> filesOfIndex(const fs::path &index) {
  HEDDLE_ASSIGN(std::vector<std::byte> bytes, readFile(index, kIndexLimit));
  std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  HEDDLE_ASSIGN(Json json, parseJson(text, str("'", index.string(), "'")));
  if (!json.is_object() || !json.contains("weight_map") || !json["weight_map"].is_object())
    return makeError(ErrorKind::Malformed, "'", index.string(),
                     "' has no object 'weight_map', which says in which file each "
                     "tensor is; download it again.");
  std::set<fs::path> files;
  for (const auto &[name, file] : json["weight_map"].items()) {
    if (!file.is_string() || fs::path(file.get<std::string>()).filename() != file.get<std::string>())
      return makeError(ErrorKind::Malformed, "'", index.string(), "' says that '", name, "' is in ", file.dump(),
                       ", which does not name a file beside it; download it again.");
    fs::path path = index.parent_path() / file.get<std::string>();
    std::error_code error;
    if (files.insert(path).second && !fs::exists(path, error))
      return makeError(ErrorKind::NotFound, "'", index.string(), "' says that '", name, "' is in '",
                       path.filename().string(), "', and the folder has no such file; download it.");
  }
  return std::vector<fs::path>(files.begin(), files.end());
}

} // namespace

Result<std::vector<fs::path>> findWeightFiles(const fs::path &folder) {
  auto has = [&](const char *name) {
    std::error_code error;
    return fs::exists(folder / name, error);
  };
  if (has(kIndexFile))
    return filesOfIndex(folder / kIndexFile);
  if (!has(kWholeFile) && has(kTorchIndexFile))
    return filesOfIndex(folder / kTorchIndexFile);
  for (const char *whole : {kWholeFile, kTorchFile})
    if (has(whole))
      return std::vector<fs::path>{folder / whole};
  return makeError(ErrorKind::NotFound, "'", folder.string(), "' has neither ", kWholeFile, " nor ", kIndexFile,
                   " nor ", kTorchFile, ". Download the model's weights.");
}

} // namespace heddle
