#include "runtime/tokenizers/MergedPieces.h"

#include "runtime/text/Utf8.h"

namespace heddle {

MergedPieces::MergedPieces(PieceTable all, Merges merges, Options options)
    : pieces(std::move(all)), merges(std::move(merges)), options(options) {
  if (options.usesBytes)
    bytes = ByteFallback(pieces);
}

void MergedPieces::append(std::string_view word, std::vector<int32_t> &ids) const {
  if (options.wholeWordsFirst)
    if (std::optional<int32_t> whole = pieces.find(word)) {
      ids.push_back(*whole);
      return;
    }
  std::vector<int32_t> characters;
  bool behindUnknown = false;
  for (size_t length; !word.empty(); word.remove_prefix(length)) {
    length = firstCharacter(word).bytes;
    std::string_view character = word.substr(0, length);
    bool isKnown = true;
    if (std::optional<int32_t> id = pieces.find(character))
      characters.push_back(*id);
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
