// Numbers as text: a language of few words for vocabularies to learn.
#pragma once

#include <cstdint>
#include <string>

namespace heddle::test {

// Returns the English cardinal of a number below a million: 234 is "two hundred thirty-four".
inline std::string englishOf(uint32_t number) {
  static const char *const small[] = {"zero",     "one",     "two",     "three",     "four",     "five",    "six",
                                      "seven",    "eight",   "nine",    "ten",       "eleven",   "twelve",  "thirteen",
                                      "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
  static const char *const tens[] = {"",      "",      "twenty",  "thirty", "forty",
                                     "fifty", "sixty", "seventy", "eighty", "ninety"};
  auto rest = [](const char *separator, uint32_t left) { return left == 0 ? "" : separator + englishOf(left); };
  if (number < 20)
    return small[number];
  if (number < 100)
    return tens[number / 10] + rest("-", number % 10);
  if (number < 1'000)
    return englishOf(number / 100) + " hundred" + rest(" ", number % 100);
  return englishOf(number / 1'000) + " thousand" + rest(" ", number % 1'000);
}

// Returns the German cardinal of a number below a million, in which digits have one form each: 234 is
// "zweihundertvierunddreißig".
inline std::string germanOf(uint32_t number) {
  static const char *const small[] = {"null",     "ein",      "zwei",     "drei",     "vier",     "fünf",    "sechs",
                                      "sieben",   "acht",     "neun",     "zehn",     "elf",      "zwölf",   "dreizehn",
                                      "vierzehn", "fünfzehn", "sechzehn", "siebzehn", "achtzehn", "neunzehn"};
  static const char *const tens[] = {"",        "",        "zwanzig", "dreißig", "vierzig",
                                     "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"};
  auto rest = [](uint32_t left) { return left == 0 ? "" : germanOf(left); };
  if (number < 20)
    return small[number];
  if (number < 100)
    return (number % 10 == 0 ? "" : germanOf(number % 10) + "und") + tens[number / 10];
  if (number < 1'000)
    return germanOf(number / 100) + "hundert" + rest(number % 100);
  return germanOf(number / 1'000) + "tausend" + rest(number % 1'000);
}

} // namespace heddle::test
