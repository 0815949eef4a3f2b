#include "runtime/tokenizers/ByteFallback.h"

#include <algorithm>
#include <charconv>

namespace heddle {

ByteFallback::ByteFallback(const PieceTable &pieces) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  for (size_t byte = 0; byte < tokens.size(); ++byte)
    tokens[byte] = pieces.find(str("<0x", digits[byte / 16], digits[byte % 16], ">"));
}

bool ByteFallback::append(std::string_view bytes, std::vector<int32_t> &ids) const {
  if (!std::ranges::all_of(bytes, [&](char byte) { return tokens[uint8_t(byte)].has_value(); }))
    return false;
  for (char byte : bytes)
    ids.push_back(*tokens[uint8_t(byte)]);
  return true;
}

std::optional<char> ByteFallback::byteOf(std::string_view piece) {
  uint8_t byte = 0;
  if (piece.size() != 6 || !piece.starts_with("<0x") || !piece.ends_with('>'))
    return std::nullopt;
  auto [end, error] = std::from_chars(piece.data() + 3, piece.data() + 5, byte, 16);
  return error == std::errc() && end == piece.data() + 5 ? std::optional(char(byte)) : std::nullopt;
}

} // namespace heddle
