#include "runtime/tokenizers/Base64.h"

#include <cstdint>

namespace heddle {

static constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string toBase64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t place = 0; place < bytes.size(); place += 3) {
    std::string_view group = bytes.substr(place, 3);
    uint32_t bits = 0;
    for (size_t i = 0; i < 3; ++i)
      bits = bits << 8 | (i < group.size() ? uint8_t(group[i]) : 0);
    for (size_t i = 0; i < 4; ++i)
      text += i <= group.size() ? digits[bits >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

std::optional<std::string> fromBase64(std::string_view text) {
  if (text.size() % 4 != 0)
    return std::nullopt;
  for (int padding = 0; padding < 2 && text.ends_with('='); ++padding)
    text.remove_suffix(1);
  std::string bytes;
  uint32_t bits = 0;
  int held = 0; // number of bits in `bits` that are not in a byte yet
  for (char digit : text) {
    size_t value = digits.find(digit);
    if (value == std::string_view::npos)
      return std::nullopt;
    bits = bits << 6 | uint32_t(value);
    held += 6;
    if (held < 8)
      continue;
    held -= 8;
    bytes += char(bits >> held & 0xff);
  }
  return bytes;
}

} // namespace heddle
