#include "tools/heddle-compile/page/PlaceTable.h"

#include "compiler/Analysis/Locations/Locations.h"
#include "compiler/Model/Language/ModelText.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mlir::heddle;
using Json = nlohmann::ordered_json;

/// A larger file is hardly a text that someone wrote.
static constexpr size_t kMostBytes = 1 << 20;

int64_t PlaceTable::add(Location location) {
  auto [known, isNew] = numbers.try_emplace(location, -1);
  if (!isNew)
    return known->second;
  Place place{describeLocation(location), {}, {}};
  for (StringRef part : getPartsOfPlace(location))
    place.parts.push_back(part.str());
  location->walk([&](Location part) {
    if (auto line = dyn_cast<FileLineColLoc>(part)) {
      std::pair<size_t, unsigned> at(files.try_emplace(line.getFilename(), files.size()).first->second, line.getLine());
      if (!llvm::is_contained(place.lines, at))
        place.lines.push_back(at);
    }
    return WalkResult::advance();
  });
  if (place.text.empty())
    return -1;
  known->second = static_cast<int64_t>(places.size());
  places.push_back(std::move(place));
  return known->second;
}

Json PlaceTable::toJson() const {
  Json all = Json::array();
  for (const Place &place : places)
    all.push_back({place.text, place.lines, place.parts});
  return all;
}

static std::string folderOf(StringRef file) {
  SmallString<128> folder = llvm::sys::path::parent_path(file);
  llvm::sys::path::remove_dots(folder, /*remove_dot_dot=*/true);
  return folder.str().str();
}

/// Returns the text of a library file, or of a file in the model's folder.
static Json readText(StringRef file, StringRef model) {
  if (StringRef text = language::findLibraryText(llvm::sys::path::stem(file));
      !text.empty() && !file.contains('/') && file != model && llvm::sys::path::extension(file) == ".weft")
    return text.str();
  if (!llvm::is_contained({".toml", ".weft", ".mlir", ".json"}, llvm::sys::path::extension(file)) ||
      folderOf(file) != folderOf(llvm::sys::fs::is_directory(model) ? (model + "/").str() : model.str()))
    return nullptr;
  auto buffer = llvm::MemoryBuffer::getFile(file, /*IsText=*/true);
  if (!buffer || (*buffer)->getBufferSize() > kMostBytes)
    return nullptr;
  return (*buffer)->getBuffer().str();
}

Json PlaceTable::filesToJson(StringRef model) const {
  Json all = Json::array();
  for (auto [file, number] : files)
    all.push_back({file.str(), readText(file, model)});
  return all;
}
