#include "runtime/tokenizers/PieceModel.h"

#include "runtime/text/Utf8.h"

#include <algorithm>

namespace heddle {

// The parts, with consecutive unknown ones as one.
std::vector<std::string_view> PieceModel::cutFused(std::string_view word) const {
  std::vector<std::string_view> fused;
  bool behindUnknown = false;
  for (const Part &part : cut(word)) {
    if (behindUnknown && !part.isKnown)
      fused.back() = {fused.back().data(), fused.back().size() + part.text.size()};
    else
      fused.push_back(part.text);
    behindUnknown = !part.isKnown;
  }
  return fused;
}

void PieceModel::append(std::string_view word, std::vector<int32_t> &ids) const {
  for (std::string_view part : cutFused(word))
    if (std::optional<int32_t> id = numbers.find(part))
      ids.push_back(*id);
    else if (!bytes.append(part, ids) && unknown)
      ids.push_back(*unknown);
}

std::vector<std::string_view> PieceModel::unknownParts(std::string_view word) const {
  std::vector<std::string_view> parts = cutFused(word);
  std::vector<int32_t> ids;
  std::erase_if(parts, [&](std::string_view part) { return numbers.find(part) || bytes.append(part, ids); });
  return parts;
}

std::vector<PieceModel::Part> ListedPieces::cut(std::string_view word) const {
  std::vector<Part> parts;
  for (size_t length; !word.empty(); word.remove_prefix(length)) {
    length = firstCharacter(word).bytes;
    if (areWords)
      length = std::min(word.find(kSpaceMark, length), word.size());
    std::string_view part = word.substr(0, length);
    parts.push_back({part, pieces.find(part).has_value()});
  }
  return parts;
}

} // namespace heddle
