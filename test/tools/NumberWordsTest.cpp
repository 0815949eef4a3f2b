#include "tools/numbers/NumberWords.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

using namespace heddle::numbers;

namespace {

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

TEST(NumberWords, EveryNumberHasItsOwnWords) {
  std::set<std::string> english, german;
  for (uint32_t number = 0; number < 20'000; ++number) {
    EXPECT_TRUE(english.insert(spellEnglish(number)).second) << number;
    EXPECT_TRUE(german.insert(spellGerman(number)).second) << number;
  }
}

// "eins" stands only at the end, and a German number below a million is one word.
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
