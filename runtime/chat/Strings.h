// Operations on the characters (code points) of texts.
#pragma once

#include "runtime/chat/Value.h"

namespace heddle::chat {

// The length in bytes of the character at byte `begin`.
size_t characterBytes(std::string_view text, size_t begin);
// The byte at which each character begins, and the end of the last one.
std::vector<size_t> characterStarts(std::string_view text);
// The characters [begin, end).
std::string characters(const Text &text, size_t begin, size_t end);
// The number of characters that end at or before a byte.
size_t charactersBefore(const Text &text, size_t byte);

// The byte of the first or last occurrence of `part`, or npos. Takes time linear in the length of `text`.
size_t findText(std::string_view text, std::string_view part, size_t begin);
size_t findLastText(std::string_view text, std::string_view part);

// Replaces at most `count` occurrences, or all if `count` is negative.
Result<std::string> replaced(std::string_view text, std::string_view old, std::string_view fresh, int64_t count,
                             const Budget &budget);

std::string upperCase(std::string_view text);
std::string lowerCaseOf(std::string_view text);
// Capitalises each word and lowers its other letters, like Python's str.title().
std::string titleCase(std::string_view text);
std::string capitalized(std::string_view text);
std::string swappedCase(std::string_view text);

// Removes the characters of `set` from the ends, or white space if `set` is null.
enum class Ends { Both, Left, Right };
std::string_view stripped(std::string_view text, const std::string *set, Ends ends);

// Python's methods of the same names; false for an empty text.
bool isUpper(std::string_view text);
bool isLower(std::string_view text);
bool isTitle(std::string_view text);

} // namespace heddle::chat
