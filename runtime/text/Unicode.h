// What Unicode says of characters; their table is utf8proc's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace heddle {

// By general category: L*, N*, P*, C* (controls, formats, what is not assigned) and Mn.
bool isLetter(char32_t point);
bool isNumber(char32_t point);
bool isPunctuation(char32_t point);
bool isOther(char32_t point);
bool isNonspacingMark(char32_t point);

// A bit for each general category: that of a character, and those of the categories with a name, such as "Lu", or whose
// names begin with it, such as "L".
uint32_t categoryBit(char32_t point);
uint32_t categoriesNamed(std::string_view name);

// The property White_Space.
bool isWhiteSpace(char32_t point);

// As the Unicode Standard defines it for strings, with its two special cases that hold in any language: a capital I
// with a dot becomes two characters, and a capital sigma at a word's end another than within.
std::u32string lowerCase(std::u32string_view text);

// Normalization form D. `text` has no surrogates.
std::u32string decomposed(std::u32string_view text);

enum class NormalForm { C, D, KC, KD };
// UTF-8 in a normalization form; a text that is not UTF-8 is left as it is.
std::string normalized(std::string_view text, NormalForm form);

// Bytes of the characters that a reader takes for one, an extended grapheme cluster, which `text`, not empty, begins
// with.
size_t firstClusterBytes(std::string_view text);

// UTF-8 without the white space at its beginning, or at its end.
std::string_view withoutLeadingSpace(std::string_view text);
std::string_view withoutTrailingSpace(std::string_view text);

std::string toUtf8(std::u32string_view text);

} // namespace heddle
