#include "tools/heddle-run/text/Utf8.h"

#include <cstdint>

namespace heddle::run {
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

bool isBlank(std::string_view text) { return text.find_first_not_of(" \t\r\v\f") == std::string_view::npos; }

} // namespace heddle::run
