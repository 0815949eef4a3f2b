#include "tools/heddle-data/NumberWords.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <unordered_map>

using namespace heddle::demo;

namespace {

std::vector<std::string> allWritings(uint32_t number) {
  std::vector<std::string> all;
  for (const std::vector<std::string> &way : englishWritings(number))
    all.insert(all.end(), way.begin(), way.end());
  return all;
}

TEST(NumberWords, English) {
  const std::map<uint32_t, std::string> cases = {
      {0, "zero"},
      {10, "ten"},
      {15, "fifteen"},
      {20, "twenty"},
      {40, "forty"},
      {99, "ninety-nine"},
      {100, "one hundred"},
      {111, "one hundred eleven"},
      {234, "two hundred thirty-four"},
      {1'000, "one thousand"},
      {1'001, "one thousand one"},
      {80'018, "eighty thousand eighteen"},
      {999'999, "nine hundred ninety-nine thousand nine hundred ninety-nine"},
      {1'000'000, "one million"},
      {2'000'300, "two million three hundred"},
  };
  for (const auto &[number, words] : cases)
    EXPECT_EQ(spellEnglish(number), words) << number;
}

TEST(NumberWords, German) {
  const std::map<uint32_t, std::string> cases = {
      {0, "null"},
      {1, "eins"},
      {6, "sechs"},
      {7, "sieben"},
      {11, "elf"},
      {12, "zwölf"},
      {16, "sechzehn"},
      {17, "siebzehn"},
      {20, "zwanzig"},
      {21, "einundzwanzig"},
      {30, "dreißig"},
      {60, "sechzig"},
      {66, "sechsundsechzig"},
      {70, "siebzig"},
      {77, "siebenundsiebzig"},
      {100, "einhundert"},
      {101, "einhunderteins"},
      {121, "einhunderteinundzwanzig"},
      {234, "zweihundertvierunddreißig"},
      {600, "sechshundert"},
      {1'000, "eintausend"},
      {1'001, "eintausendeins"},
      {21'000, "einundzwanzigtausend"},
      {101'000, "einhunderteintausend"},
      {101'101, "einhunderteintausendeinhunderteins"},
      {716'817, "siebenhundertsechzehntausendachthundertsiebzehn"},
      {1'000'000, "eine Million"},
      {1'000'001, "eine Million eins"},
      {2'000'000, "zwei Millionen"},
      {101'000'000, "einhunderteine Millionen"},
      {3'021'001, "drei Millionen einundzwanzigtausendeins"},
  };
  for (const auto &[number, words] : cases)
    EXPECT_EQ(spellGerman(number), words) << number;
}

TEST(NumberWords, WaysOfWriting) {
  const std::map<uint32_t, std::vector<std::string>> cases = {
      {0, {"zero"}},
      {1, {"one"}},
      {17, {"seventeen"}},
      {30, {"thirty"}},
      {21, {"twenty-one", "twenty one"}},
      {100, {"one hundred", "a hundred"}},
      {110, {"one hundred ten", "a hundred ten", "one hundred and ten", "a hundred and ten", "one ten"}},
      {402, {"four hundred two", "four hundred and two", "four oh two"}},
      {1'000, {"one thousand", "a thousand"}},
      {1'200, {"one thousand two hundred", "a thousand two hundred", "twelve hundred"}},
      {2'000, {"two thousand"}},
      {2'005, {"two thousand five", "two thousand and five", "twenty oh five"}},
      {7'600, {"seven thousand six hundred", "seventy-six hundred", "seventy six hundred"}},
      {21'000, {"twenty-one thousand", "twenty one thousand"}},
      {100'000, {"one hundred thousand", "a hundred thousand"}},
      {205'006,
       {"two hundred five thousand six", "two hundred and five thousand six", "two hundred five thousand and six",
        "two hundred and five thousand and six"}},
      {1'000'001, {"one million one", "a million one", "one million and one", "a million and one"}},
  };
  for (const auto &[number, writings] : cases)
    EXPECT_EQ(allWritings(number), writings) << number;
  const std::pair<uint32_t, const char *> some[] = {{1'984, "nineteen eighty-four"},
                                                    {1'905, "nineteen oh five"},
                                                    {1'905, "nineteen hundred and five"},
                                                    {2'026, "twenty twenty-six"},
                                                    {2'026, "two thousand and twenty-six"},
                                                    {105'006, "a hundred and five thousand and six"},
                                                    {111'111, "one hundred and eleven thousand one hundred eleven"}};
  for (auto [number, text] : some)
    EXPECT_EQ(std::ranges::count(allWritings(number), text), 1) << text;
}

// Below 10,000 every way of writing occurs; larger numbers only combine them.
TEST(NumberWords, EveryTextMeansOneNumber) {
  std::unordered_map<std::string, uint32_t> english, german;
  auto add = [&](uint32_t number) {
    EXPECT_TRUE(german.emplace(spellGerman(number), number).second) << number;
    std::vector<std::string> writings = allWritings(number);
    EXPECT_EQ(writings.front(), spellEnglish(number));
    for (const std::string &text : writings) {
      auto [place, isNew] = english.emplace(text, number);
      EXPECT_TRUE(isNew) << text << " is " << number << " and " << place->second;
    }
  };
  for (uint32_t number = 0; number < 20'000; ++number)
    add(number);
  for (uint32_t number = 20'000; number < 1'000'000; number += 37)
    add(number);
}

// "eins" occurs only at the end, and a German number below a million is one word.
TEST(NumberWords, GermanShape) {
  for (uint32_t number = 0; number < 1'000'000; number += 37) {
    std::string words = spellGerman(number);
    EXPECT_EQ(words.find(' '), std::string::npos) << words;
    size_t one = words.find("eins");
    if (one != std::string::npos) {
      EXPECT_EQ(one + 4, words.size()) << words;
    }
    EXPECT_EQ(words.ends_with("eins"), number % 100 == 1) << words;
  }
}

} // namespace
