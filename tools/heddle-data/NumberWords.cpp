#include "tools/heddle-data/NumberWords.h"

#include <array>
#include <string_view>

namespace heddle::demo {
namespace {

constexpr std::array<std::string_view, 20> englishSmall = {
    "zero", "one",    "two",    "three",    "four",     "five",    "six",     "seven",     "eight",    "nine",
    "ten",  "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
constexpr std::array<std::string_view, 10> englishTens = {"",      "",      "twenty",  "thirty", "forty",
                                                          "fifty", "sixty", "seventy", "eighty", "ninety"};

// "ein" is the form inside compounds; at the end of a number it is "eins". Sixteen, seventeen, sixty and seventy use
// shortened forms of sechs and sieben.
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

// Answers the questions that a number's writing leaves open ("hyphen or space?"): the answer to the nth question is the
// nth bit of `answers`.
class Answers {
public:
  explicit Answers(uint32_t answers) : answers(answers) {}
  bool next() { return answers >> asked++ & 1; }
  uint32_t questions() const { return asked; }

private:
  uint32_t answers, asked = 0;
};

// Appends 1 to 99.
void appendBelowHundred(std::string &text, uint32_t number, Answers &answers) {
  if (number < 20) {
    appendWord(text, englishSmall[number]);
    return;
  }
  appendWord(text, englishTens[number / 10]);
  if (number % 10 == 0)
    return;
  text += answers.next() ? ' ' : '-';
  text += englishSmall[number % 10];
}

// Appends 1 to 99 after hundreds, thousands or millions.
void appendRest(std::string &text, uint32_t rest, Answers &answers) {
  if (answers.next())
    appendWord(text, "and");
  appendBelowHundred(text, rest, answers);
}

// Appends a leading "one" that counts hundreds, thousands or millions.
void appendFirstOne(std::string &text, Answers &answers) { appendWord(text, answers.next() ? "a" : englishSmall[1]); }

// Appends 1 to 999.
void appendGroup(std::string &text, uint32_t group, Answers &answers) {
  uint32_t rest = group % 100;
  if (group >= 100) {
    if (group < 200 && text.empty())
      appendFirstOne(text, answers);
    else
      appendWord(text, englishSmall[group / 100]);
    appendWord(text, "hundred");
  }
  if (rest != 0 && text.empty())
    appendBelowHundred(text, rest, answers);
  else if (rest != 0)
    appendRest(text, rest, answers);
}

// Returns "two thousand (and) five".
std::string cardinal(uint32_t number, Answers &answers) {
  if (number == 0)
    return std::string(englishSmall[0]);
  std::string text;
  auto appendCounted = [&](uint32_t group, std::string_view name) {
    if (group == 0)
      return;
    if (group == 1 && text.empty())
      appendFirstOne(text, answers);
    else
      appendGroup(text, group, answers);
    appendWord(text, name);
  };
  appendCounted(number / 1'000'000, "million");
  appendCounted(number / 1'000 % 1'000, "thousand");
  if (uint32_t rest = number % 1'000)
    appendGroup(text, rest, answers);
  return text;
}

// Returns "twelve hundred (and) five".
std::string hundreds(uint32_t number, Answers &answers) {
  std::string text;
  appendBelowHundred(text, number / 100, answers);
  appendWord(text, "hundred");
  if (uint32_t rest = number % 100)
    appendRest(text, rest, answers);
  return text;
}
bool hasHundreds(uint32_t number) { return number >= 1'100 && number < 10'000 && number / 100 % 10 != 0; }

// Returns "four oh two" or "nineteen eighty-four".
std::string digitGroups(uint32_t number, Answers &answers) {
  std::string text;
  appendBelowHundred(text, number / 100, answers);
  if (number % 100 < 10)
    appendWord(text, "oh");
  appendBelowHundred(text, number % 100, answers);
  return text;
}
bool hasDigitGroups(uint32_t number) { return number >= 100 && number < 10'000 && number % 100 != 0; }

// Returns 1 to 999 in the form used before "tausend".
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

std::vector<std::vector<std::string>> englishWritings(uint32_t number) {
  std::vector<std::vector<std::string>> ways;
  auto append = [&](std::string (*write)(uint32_t, Answers &)) {
    // The number of questions depends only on `number`.
    std::vector<std::string> &writings = ways.emplace_back();
    for (uint32_t bits = 0, count = 1; bits < count; ++bits) {
      Answers answers(bits);
      writings.push_back(write(number, answers));
      count = 1u << answers.questions();
    }
  };
  append(cardinal);
  if (hasHundreds(number))
    append(hundreds);
  if (hasDigitGroups(number))
    append(digitGroups);
  return ways;
}

std::string spellEnglish(uint32_t number) {
  Answers plainest(0);
  return cardinal(number, plainest);
}

std::string spellGerman(uint32_t number) {
  if (number == 0)
    return std::string(germanSmall[0]);
  std::string text;
  if (uint32_t millions = number / 1'000'000) {
    // Million is a separate feminine noun: "eine Million", "hunderteine Millionen".
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

} // namespace heddle::demo
