#include "runtime/tokenizers/MergedPieces.h"

#include "runtime/text/Utf8.h"

namespace heddle {

static constexpr char32_t kReplacement = 0xFFFD;

MergedPieces::MergedPieces(PieceTable all, Merges merges, Options options)
    : pieces(std::move(all)), merges(std::move(merges)), options(options) {
  if (options.usesBytes)
    bytes = ByteFallback(pieces);
  for (int32_t id = 0; id < pieces.size(); ++id)
    if (const std::string &piece = pieces[id]; !piece.empty())
      if (auto [point, length] = firstCharacter(piece); length == piece.size() && pieces.find(piece) == id) {
        if (point >= ofPoints.size())
          ofPoints.resize(size_t(point) + 1, kNone);
        ofPoints[point] = id;
      }
}

void MergedPieces::append(std::string_view word, std::vector<int32_t> &ids) const {
  if (options.wholeWordsFirst)
    if (std::optional<int32_t> whole = pieces.find(word)) {
      ids.push_back(*whole);
      return;
    }
  std::vector<int32_t> characters;
  characters.reserve(word.size());
  bool behindUnknown = false;
  for (size_t length; !word.empty(); word.remove_prefix(length)) {
    Character first = firstCharacter(word);
    length = first.bytes;
    std::string_view character = word.substr(0, length);
    bool isKnown = true, isValid = first.point != kReplacement; // an invalid byte has this code point, too
    int32_t id = !isValid                        ? pieces.find(character).value_or(kNone)
                 : first.point < ofPoints.size() ? ofPoints[first.point]
                                                 : kNone;
    if (id != kNone)
      characters.push_back(id);
    else if (!bytes.append(character, characters)) {
      isKnown = false;
      if (options.unknown && !(behindUnknown && options.fusesUnknown))
        characters.push_back(*options.unknown);
    }
    behindUnknown = !isKnown;
  }
  merges.apply(characters, ids);
}

} // namespace heddle
