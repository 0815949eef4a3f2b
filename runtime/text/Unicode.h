// Properties of Unicode characters, from utf8proc's tables.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace heddle {

// By general category: L*, N*, P*, C* (controls, format characters, unassigned) and Mn.
bool isLetter(char32_t point);
bool isNumber(char32_t point);
bool isPunctuation(char32_t point);
bool isOther(char32_t point);
bool isNonspacingMark(char32_t point);

// Bit sets of general categories, one bit each: the category of a character, and all categories whose names begin with
// `name`, such as "Lu" or "L".
uint32_t categoryBit(char32_t point);
uint32_t categoriesNamed(std::string_view name);

// The property White_Space.
bool isWhiteSpace(char32_t point);

// Lower case as the Unicode Standard defines it for strings, with its two language-independent special cases: a capital
// I with a dot becomes two characters, and a capital sigma has another small form at the end of a word.
std::u32string lowerCase(std::u32string_view text);

// Normalization form D. `text` has no surrogates.
std::u32string decomposed(std::u32string_view text);

enum class NormalForm { C, D, KC, KD };
// UTF-8 in a normalization form. A text that is not valid UTF-8 is returned unchanged.
std::string normalized(std::string_view text, NormalForm form);

// The length in bytes of the extended grapheme cluster (user-perceived character) at the beginning of `text`, which is
// not empty.
size_t firstClusterBytes(std::string_view text);

// The text without white space at its beginning, or at its end.
std::string_view withoutLeadingSpace(std::string_view text);
std::string_view withoutTrailingSpace(std::string_view text);

std::string toUtf8(std::u32string_view text);

} // namespace heddle
