// The pieces "<0x00>" to "<0xFF>", in which vocabularies of SentencePiece's kind write a character that they have no
// piece for.
#pragma once

#include "runtime/text/PieceTable.h"

#include <array>

namespace heddle {

class ByteFallback {
public:
  ByteFallback() = default; // of a vocabulary without such pieces
  explicit ByteFallback(const PieceTable &pieces);

  // Appends the bytes' tokens; false, and nothing is appended, where one of them has none.
  bool append(std::string_view bytes, std::vector<int32_t> &ids) const;
  // The byte that a piece stands for, if it does.
  static std::optional<char> byteOf(std::string_view piece);

private:
  std::array<std::optional<int32_t>, 256> tokens;
};

} // namespace heddle
