#include "runtime/tokenizers/PieceTexts.h"

#include "runtime/tokenizers/ByteFallback.h"
#include "runtime/tokenizers/BytePairs.h"
#include "runtime/tokenizers/TextNormalizer.h"

namespace heddle {

PieceTexts::PieceTexts(const PieceTable &pieces, PieceRule given, std::span<const int32_t> wholes)
    : rule(std::move(given)) {
  for (int32_t id = 0; id < pieces.size(); ++id)
    texts.push_back(textOf(pieces[id]));
  if (rule.isBytes)
    for (int32_t id : wholes)
      texts[size_t(id)] = pieces[id];
}

std::string PieceTexts::textOf(std::string piece) const {
  if (rule.isBytes)
    return bytesOfPiece(piece);
  for (const auto &[text, by] : rule.replaced)
    piece = replaceAll(piece, text, by);
  if (rule.hasBytes)
    if (std::optional<char> byte = ByteFallback::byteOf(piece))
      return std::string(1, *byte);
  return piece;
}

std::string PieceTexts::join(const PieceTable &pieces, std::span<const int32_t> ids, bool begins) const {
  std::string text;
  bool isFirst = begins;
  size_t strips = begins && !rule.stripped.empty() ? rule.strips : 0;
  for (int32_t id : ids) {
    if (!pieces.contains(id))
      continue;
    std::string shown;
    std::string_view piece = texts[size_t(id)];
    if (isFirst && !rule.hidden.empty())
      piece = shown = textOf(replaceAll(pieces[id], rule.hidden, ""));
    for (; strips > 0 && text.empty() && piece.starts_with(rule.stripped) && !whole.contains(id); --strips)
      piece.remove_prefix(rule.stripped.size());
    text += piece;
    isFirst = false;
  }
  return text;
}

} // namespace heddle
