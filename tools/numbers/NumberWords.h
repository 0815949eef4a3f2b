#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heddle::numbers {

// The largest number that can be spelled.
inline constexpr uint32_t kMaximumNumber = 999'999'999;

// The English cardinal without "and": 234 is "two hundred thirty-four".
std::string spellEnglish(uint32_t number);

// All texts that Heddle writes a number as in English: a list for each way in which this number is written,
// spellEnglish's text first. No two numbers share a text.
//
//   cardinals      with "and" or without it before the last two digits of a group of three ("one hundred and five
//                  thousand and six"), with a hyphen or a space ("twenty-one", "twenty one"), and with "a" in place of
//                  a first "one" ("a hundred", "a thousand and five")
//   hundreds       1,100 to 9,999, where the hundreds are no whole thousand: "twelve hundred", "nineteen hundred and
//   five" digit groups   101 to 9,999, but for whole hundreds: "four oh two", "nineteen eighty-four", "twenty
//   twenty-six"
std::vector<std::vector<std::string>> englishWritings(uint32_t number);

// The German cardinal, of which there is one spelling. Below a million it is a single word: 234 is
// "zweihundertvierunddreißig".
std::string spellGerman(uint32_t number);

} // namespace heddle::numbers
