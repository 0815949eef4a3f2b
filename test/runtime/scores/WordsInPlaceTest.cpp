#include "runtime/scores/WordsInPlace.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace heddle;

namespace {

TEST(WordsInPlace, CountsByPlaceAndLength) {
  WordsInPlace words;
  words.add("a b x", "a b c d"); // 2 of 4: the third word differs, the fourth is missing
  words.add("one  two\tthree four five six ", "one two three four five six");
  words.add("b c d e f g", "a b c d e f"); // shifted by a word: none
  words.add("something", "  ");
  EXPECT_EQ(words.describe(), "words in place 50.0% of 16; by the reference's words: 1-5 50.0%, 6-10 50.0%");
  EXPECT_EQ(words.toJson().dump(), "[[1,5,0.5,4],[6,10,0.5,12]]");
}

TEST(WordsInPlace, SaysHundredOfAllAlone) {
  WordsInPlace words;
  EXPECT_EQ(words.describe(), "words in place 0.0% of 0");
  for (int i = 0; i < 1999; ++i)
    words.add("a", "a");
  words.add("b", "a");
  EXPECT_EQ(words.describe(), "words in place 99.9% of 2000");
}

} // namespace
