#pragma once

#include <cstdint>
#include <string>

namespace heddle::numbers {

// The largest number that can be spelled.
inline constexpr uint32_t kMaximumNumber = 999'999'999;

// The English cardinal without "and": 234 is "two hundred thirty-four".
std::string spellEnglish(uint32_t number);

// The German cardinal. Below a million it is one word: 234 is "zweihundertvierunddreißig".
std::string spellGerman(uint32_t number);

} // namespace heddle::numbers
