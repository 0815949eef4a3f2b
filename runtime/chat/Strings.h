// Texts by their characters, which are code points.
#pragma once

#include "runtime/chat/Value.h"

namespace heddle::chat {

// Bytes of the character that begins at this place.
size_t characterBytes(std::string_view text, size_t begin);
// Where each character begins, and the end of the last.
std::vector<size_t> characterStarts(std::string_view text);
// The characters from `begin` on, before `end`.
std::string characters(const Text &text, size_t begin, size_t end);
// How many characters end at or before a byte.
size_t charactersBefore(const Text &text, size_t byte);

// The byte at which `part` first, or last, is found, or npos. Time grows with the length of `text`.
size_t findText(std::string_view text, std::string_view part, size_t begin);
size_t findLastText(std::string_view text, std::string_view part);

// At most `count` replacements; all if it is negative.
Result<std::string> replaced(std::string_view text, std::string_view old, std::string_view fresh, int64_t count,
                             const Budget &budget);

std::string upperCase(std::string_view text);
std::string lowerCaseOf(std::string_view text);
// The first letter of each word in title case, the rest in lower case, as Python's str.title().
std::string titleCase(std::string_view text);
std::string capitalized(std::string_view text);
std::string swappedCase(std::string_view text);

// Without the characters of `set` at its ends, or without white space if `set` is null.
enum class Ends { Both, Left, Right };
std::string_view stripped(std::string_view text, const std::string *set, Ends ends);

// As Python's methods of these names; false for an empty text.
bool isUpper(std::string_view text);
bool isLower(std::string_view text);
bool isTitle(std::string_view text);

} // namespace heddle::chat
