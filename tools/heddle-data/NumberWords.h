#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heddle::demo {

// The largest number that can be spelled.
inline constexpr uint32_t kMaximumNumber = 999'999'999;

// The English cardinal without "and": 234 is "two hundred thirty-four".
std::string spellEnglish(uint32_t number);

// Returns all texts in which Heddle writes a number in English: a list for each way of writing that applies, with
// spellEnglish's text first. No two numbers share a text.
//
// cardinals: with or without "and" before the last two digits of a group of three ("one hundred and five thousand and
// six"), with a hyphen or a space ("twenty-one", "twenty one"), and with "a" for a leading "one" ("a hundred", "a
// thousand and five")
// hundreds: 1,100 to 9,999, unless they are whole thousands: "twelve hundred", "nineteen hundred and five"
// digit groups: 101 to 9,999, except whole hundreds: "four oh two", "nineteen eighty-four", "twenty twenty-six"
std::vector<std::vector<std::string>> englishWritings(uint32_t number);

// Returns the German cardinal, which has a single spelling. Below a million it is one word: 234 is
// "zweihundertvierunddreißig".
std::string spellGerman(uint32_t number);

} // namespace heddle::demo
