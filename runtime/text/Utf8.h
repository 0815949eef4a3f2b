// UTF-8 as RFC 3629 defines it: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace heddle {

bool isValidUtf8(std::string_view text);

// Replaces each truncated character by one U+FFFD, and each other byte outside a valid character by one U+FFFD. Unicode
// recommends this, and Python and Rust do the same.
std::string replaceInvalidUtf8(std::string_view text);

struct Character {
  char32_t point;
  size_t bytes;
};

// The first character of `text`, which is not empty. It is U+FFFD with a length of one byte if `text` begins with
// invalid bytes.
Character firstCharacter(std::string_view text);

// The characters, with U+FFFD for each byte outside a valid character.
std::u32string codePoints(std::string_view text);

// The length in bytes of the white space character at the beginning of `text`, which is not empty; 0 if there is none.
// White space is as in Python's str.split().
size_t whiteSpaceBytes(std::string_view text);

// Returns true if a line has only ASCII white space.
bool isBlank(std::string_view text);

} // namespace heddle
