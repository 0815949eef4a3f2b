// The pieces "<0x00>" to "<0xFF>". SentencePiece-style vocabularies use them to write a character that has no piece.
#pragma once

#include "runtime/tokenizers/PieceTable.h"

#include <array>

namespace heddle {

class ByteFallback {
public:
  ByteFallback() = default; // for a vocabulary without such pieces
  explicit ByteFallback(const PieceTable &pieces);

  // Appends the bytes' tokens. If a byte has no token, appends nothing and returns false.
  bool append(std::string_view bytes, std::vector<int32_t> &ids) const;
  // The byte that a piece stands for; nothing for other pieces.
  static std::optional<char> byteOf(std::string_view piece);

private:
  std::array<std::optional<int32_t>, 256> tokens;
};

} // namespace heddle
