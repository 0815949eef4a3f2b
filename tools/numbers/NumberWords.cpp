#include "tools/numbers/NumberWords.h"

#include <array>
#include <string_view>

namespace heddle::numbers {
namespace {

constexpr std::array<std::string_view, 20> englishSmall = {
    "zero", "one",    "two",    "three",    "four",     "five",    "six",     "seven",     "eight",    "nine",
    "ten",  "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
constexpr std::array<std::string_view, 10> englishTens = {"",      "",      "twenty",  "thirty", "forty",
                                                          "fifty", "sixty", "seventy", "eighty", "ninety"};

// "ein" is the form inside a compound; a number that ends in one ends in "eins". Sixteen and seventeen drop the ending
// of sechs and sieben, as do sixty and seventy.
constexpr std::array<std::string_view, 20> germanSmall = {
    "null", "ein", "zwei",  "drei",     "vier",     "fünf",     "sechs",    "sieben",   "acht",     "neun",
    "zehn", "elf", "zwölf", "dreizehn", "vierzehn", "fünfzehn", "sechzehn", "siebzehn", "achtzehn", "neunzehn"};
constexpr std::array<std::string_view, 10> germanTens = {"",        "",        "zwanzig", "dreißig", "vierzig",
                                                         "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"};

void appendWord(std::string &text, std::string_view word) {
  if (!text.empty())
    text += ' ';
  text += word;
}

void appendEnglishGroup(std::string &text, uint32_t group) {
  if (group >= 100) {
    appendWord(text, englishSmall[group / 100]);
    appendWord(text, "hundred");
  }
  uint32_t rest = group % 100;
  if (rest == 0)
    return;
  if (rest < 20) {
    appendWord(text, englishSmall[rest]);
    return;
  }
  appendWord(text, englishTens[rest / 10]);
  if (rest % 10 != 0) {
    text += '-';
    text += englishSmall[rest % 10];
  }
}

// 1 to 999 in the form that stands before "tausend".
std::string germanGroup(uint32_t group) {
  std::string text;
  if (group >= 100) {
    text += germanSmall[group / 100];
    text += "hundert";
  }
  uint32_t rest = group % 100;
  if (rest == 0)
    return text;
  if (rest < 20) {
    text += germanSmall[rest];
    return text;
  }
  if (rest % 10 != 0) {
    text += germanSmall[rest % 10];
    text += "und";
  }
  text += germanTens[rest / 10];
  return text;
}

} // namespace

std::string spellEnglish(uint32_t number) {
  if (number == 0)
    return std::string(englishSmall[0]);
  std::string text;
  if (uint32_t millions = number / 1'000'000) {
    appendEnglishGroup(text, millions);
    appendWord(text, "million");
  }
  if (uint32_t thousands = number / 1'000 % 1'000) {
    appendEnglishGroup(text, thousands);
    appendWord(text, "thousand");
  }
  if (uint32_t rest = number % 1'000)
    appendEnglishGroup(text, rest);
  return text;
}

std::string spellGerman(uint32_t number) {
  if (number == 0)
    return std::string(germanSmall[0]);
  std::string text;
  if (uint32_t millions = number / 1'000'000) {
    // Million is a feminine noun of its own: "eine Million", "hunderteine Millionen".
    text = germanGroup(millions);
    if (millions % 100 == 1)
      text += 'e';
    text += millions == 1 ? " Million" : " Millionen";
    if (number % 1'000'000 != 0)
      text += ' ';
  }
  if (uint32_t thousands = number / 1'000 % 1'000) {
    text += germanGroup(thousands);
    text += "tausend";
  }
  if (uint32_t rest = number % 1'000) {
    text += germanGroup(rest);
    if (rest % 100 == 1)
      text += 's';
  }
  return text;
}

} // namespace heddle::numbers
