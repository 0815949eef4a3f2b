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
  for (int32_t id : ids) {
    if (!pieces.contains(id))
      continue;
    text += isFirst && !rule.hidden.empty() ? textOf(replaceAll(pieces[id], rule.hidden, "")) : texts[size_t(id)];
    isFirst = false;
  }
  if (begins && !rule.stripped.empty())
    for (size_t i = 0; i < rule.strips && text.starts_with(rule.stripped); ++i)
      text.erase(0, rule.stripped.size());
  return text;
}

} // namespace heddle
