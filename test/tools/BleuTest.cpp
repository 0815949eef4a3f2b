#include "tools/heddle-run/text/Bleu.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace heddle::run;
using Strings = std::vector<std::string>;

namespace {

TEST(Bleu, Tokens) {
  EXPECT_EQ(tokenize13a("Hello, world!"), (Strings{"Hello", ",", "world", "!"}));
  EXPECT_EQ(tokenize13a("1,000.5 and 3."), (Strings{"1,000.5", "and", "3", "."}));
  EXPECT_EQ(tokenize13a("1990-2000 well-known"), (Strings{"1990", "-", "2000", "well-known"}));
  EXPECT_EQ(tokenize13a("don't &quot;x&quot; a&amp;b"), (Strings{"don't", "\"", "x", "\"", "a", "&", "b"}));
  EXPECT_EQ(tokenize13a("(a/b) [c] {d} e:f"),
            (Strings{"(", "a", "/", "b", ")", "[", "c", "]", "{", "d", "}", "e", ":", "f"}));
  EXPECT_EQ(tokenize13a("wait..."), (Strings{"wait", ".", ".", "."}));
  EXPECT_EQ(tokenize13a("größe\u00a0über\u3000all"), (Strings{"größe", "über", "all"}));
  EXPECT_EQ(tokenize13a(""), Strings());
}

TEST(Bleu, PerfectIsHundred) {
  Bleu bleu;
  bleu.add("the cat sat on the mat", "the cat sat on the mat");
  EXPECT_NEAR(bleu.score(), 100, 1e-9);
}

// By hand: hits 5/6, 3/5, 1/4 and, smoothed, 0.5/3.
TEST(Bleu, SmoothedByHand) {
  Bleu bleu;
  bleu.add("the cat sat on a mat", "the cat is on a mat");
  double expected = 100 * std::pow(5.0 / 6 * 3 / 5 * 1 / 4 * 0.5 / 3, 0.25);
  EXPECT_NEAR(bleu.score(), expected, 1e-9);
}

TEST(Bleu, CountsAreClipped) {
  Bleu bleu;
  bleu.add("the the the the the the the", "the cat is on the mat today");
  // 2/7, then no hit in 6, 5 and 4 n-grams: 1/2, 1/4, 1/8.
  EXPECT_NEAR(bleu.score(), 100 * std::pow(2.0 / 7 * 0.5 / 6 * 0.25 / 5 * 0.125 / 4, 0.25), 1e-9);
}

TEST(Bleu, ShortTranslationsArePenalised) {
  Bleu bleu;
  bleu.add("the cat sat on", "the cat sat on the mat");
  EXPECT_NEAR(bleu.brevityPenalty(), std::exp(1 - 6.0 / 4), 1e-12);
  EXPECT_NEAR(bleu.score(), 100 * std::exp(1 - 6.0 / 4), 1e-9);
}

TEST(Bleu, CountsAreSummedOverTheCorpus) {
  Bleu bleu;
  bleu.add("a b c d", "a b c d");
  bleu.add("x", "y");
  // 4/5, 3/3, 2/2, 1/1: not the mean of 100 and 0.
  EXPECT_NEAR(bleu.score(), 100 * std::pow(4.0 / 5, 0.25), 1e-9);
}

TEST(Bleu, ZeroWithoutFourGramsOrHits) {
  Bleu bleu;
  EXPECT_EQ(bleu.score(), 0);
  bleu.add("eins zwei drei", "eins zwei drei");
  EXPECT_FALSE(bleu.hasHighestOrder());
  EXPECT_EQ(bleu.score(), 0);
  bleu.add("a b c d e", "v w x y z");
  EXPECT_TRUE(bleu.hasHighestOrder());
}

} // namespace
