// UTF-8 as RFC 3629 defines it: no overlong forms, no surrogates, nothing past U+10FFFF.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace heddle {

bool isValidUtf8(std::string_view text);

// The beginning of a character that is cut off becomes one U+FFFD, and so does every other byte that no valid character
// holds: as Unicode recommends, and as Python and Rust do.
std::string replaceInvalidUtf8(std::string_view text);

struct Character {
  char32_t point;
  size_t bytes;
};

// What `text`, which is not empty, begins with: U+FFFD of one byte where that is no character.
Character firstCharacter(std::string_view text);

// The characters, U+FFFD for each byte that no valid one holds.
std::u32string codePoints(std::string_view text);

// Bytes of the white space character that `text`, which is not empty, begins with, or 0. The set is that of Python's
// str.split().
size_t whiteSpaceBytes(std::string_view text);

// Nothing but ASCII white space.
bool isBlank(std::string_view text);

} // namespace heddle
