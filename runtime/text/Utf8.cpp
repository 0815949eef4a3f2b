#include "runtime/text/Utf8.h"

#include <algorithm>
#include <cstdint>

namespace heddle {
namespace {

// The length of a character in bytes, given its first byte; 0 if no character begins with it.
size_t lengthByLead(uint8_t lead) {
  return lead < 0x80                    ? 1
         : lead >= 0xc2 && lead <= 0xdf ? 2
         : lead >= 0xe0 && lead <= 0xef ? 3
         : lead >= 0xf0 && lead <= 0xf4 ? 4
                                        : 0;
}

// The number of bytes, up to `length`, that can belong to the same character.
size_t fittingBytes(std::string_view text, size_t length) {
  auto byte = [&](size_t i) { return uint8_t(text[i]); };
  uint8_t lead = byte(0);
  // The range of the second byte excludes overlong forms, surrogates and numbers above U+10FFFF.
  uint8_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  uint8_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  size_t fitting = 1;
  for (; fitting < std::min(length, text.size()); ++fitting, low = 0x80, high = 0xbf)
    if (byte(fitting) < low || byte(fitting) > high)
      break;
  return fitting;
}

// The length in bytes of the character at the beginning of `text`; 0 if it is invalid.
size_t characterBytes(std::string_view text) {
  size_t length = lengthByLead(uint8_t(text[0]));
  return length != 0 && fittingBytes(text, length) == length ? length : 0;
}

// The number of bytes that one U+FFFD replaces: the longest truncated character, or one byte that begins no character.
size_t brokenBytes(std::string_view text) {
  size_t length = lengthByLead(uint8_t(text[0]));
  return length == 0 ? 1 : fittingBytes(text, length);
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
      bytes = brokenBytes(text);
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

bool isBlank(std::string_view text) { return text.find_first_not_of(" \t\n\r\v\f") == std::string_view::npos; }

} // namespace heddle
