#include "runtime/text/Utf8.h"

#include <cstdint>

namespace heddle {
namespace {

// Bytes of the character that `text` begins with, or 0 where it begins with none.
size_t characterBytes(std::string_view text) {
  auto byte = [&](size_t i) { return uint8_t(text[i]); };
  uint8_t lead = byte(0);
  if (lead < 0x80)
    return 1;
  size_t length = lead >= 0xc2 && lead <= 0xdf   ? 2
                  : lead >= 0xe0 && lead <= 0xef ? 3
                  : lead >= 0xf0 && lead <= 0xf4 ? 4
                                                 : 0;
  if (length == 0 || text.size() < length)
    return 0;
  // The second byte's range is what excludes overlong forms, surrogates and numbers past U+10FFFF.
  uint8_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  uint8_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  if (byte(1) < low || byte(1) > high)
    return 0;
  for (size_t i = 2; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80)
      return 0;
  return length;
}

} // namespace

bool isValidUtf8(std::string_view text) {
  while (!text.empty()) {
    size_t bytes = characterBytes(text);
    if (bytes == 0)
      return false;
    text.remove_prefix(bytes);
  }
  return true;
}

std::string replaceInvalidUtf8(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    size_t bytes = characterBytes(text);
    if (bytes == 0) {
      result += "\ufffd";
      bytes = 1;
    } else {
      result += text.substr(0, bytes);
    }
    text.remove_prefix(bytes);
  }
  return result;
}

size_t whiteSpaceBytes(std::string_view text) {
  unsigned char c = text[0];
  if (c == ' ' || (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x1f))
    return 1;
  if (text.starts_with("\u0085") || text.starts_with("\u00a0"))
    return 2;
  if (text.starts_with("\u1680") || text.starts_with("\u2028") || text.starts_with("\u2029") ||
      text.starts_with("\u202f") || text.starts_with("\u205f") || text.starts_with("\u3000"))
    return 3;
  // U+2000 to U+200A
  if (text.size() >= 3 && text.starts_with("\xe2\x80") && uint8_t(text[2]) >= 0x80 && uint8_t(text[2]) <= 0x8a)
    return 3;
  return 0;
}

Character firstCharacter(std::string_view text) {
  size_t bytes = characterBytes(text);
  if (bytes == 0)
    return {U'\ufffd', 1};
  uint8_t lead = uint8_t(text[0]);
  char32_t point = bytes == 1 ? lead : lead & (0x7f >> bytes);
  for (size_t i = 1; i < bytes; ++i)
    point = point << 6 | (uint8_t(text[i]) & 0x3f);
  return {point, bytes};
}

std::u32string codePoints(std::string_view text) {
  std::u32string result;
  while (!text.empty()) {
    auto [point, bytes] = firstCharacter(text);
    result += point;
    text.remove_prefix(bytes);
  }
  return result;
}

bool isBlank(std::string_view text) { return text.find_first_not_of(" \t\r\v\f") == std::string_view::npos; }

} // namespace heddle
