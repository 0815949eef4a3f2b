#include "runtime/scores/Bleu.h"
#include "runtime/scores/Chrf.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace heddle;
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

// Computed by hand: hits 5/6, 3/5, 1/4 and, smoothed, 0.5/3.
TEST(Bleu, SmoothedByHand) {
  Bleu bleu;
  bleu.add("the cat sat on a mat", "the cat is on a mat");
  double expected = 100 * std::pow(5.0 / 6 * 3 / 5 * 1 / 4 * 0.5 / 3, 0.25);
  EXPECT_NEAR(bleu.score(), expected, 1e-9);
}

TEST(Bleu, CountsAreClipped) {
  Bleu bleu;
  bleu.add("the the the the the the the", "the cat is on the mat today");
  // 2/7 for words; the n-grams with 2, 3 and 4 words have no hits among 6, 5 and 4: 1/2, 1/4, 1/8.
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

// sacreBLEU's own example: 45.07 70.6/42.9/36.4/37.5 (BP = 1.000 ratio = 1.000 hyp_len = 17 ref_len = 17).
TEST(Bleu, PublishedExample) {
  Bleu bleu;
  bleu.add("The dog bit the man.", "The dog bit the man.");
  bleu.add("It wasn't surprising.", "It was not unexpected.");
  bleu.add("The man had just bitten him.", "The man bit him first.");
  EXPECT_EQ(bleu.describe(), "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:heddle.1 = 45.07 "
                             "70.6/42.9/36.4/37.5 (BP = 1.000 ratio = 1.000 hyp_len = 17 ref_len = 17)");
}

TEST(Bleu, NothingToScore) {
  EXPECT_EQ(Bleu().describe(), "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:heddle.1 = 0.00 "
                               "0.0/0.0/0.0/0.0 (BP = 1.000 ratio = 0.000 hyp_len = 0 ref_len = 0)");
}

double chrf(std::string_view translation, std::string_view reference) {
  Chrf score;
  score.add(translation, reference);
  return score.score();
}

// Published examples: those of sacreBLEU's tests in which precision and recall are equal, so that beta does not matter,
// and the example of the metric's card at Hugging Face, computed by sacreBLEU.
TEST(Chrf, PublishedExamples) {
  EXPECT_NEAR(chrf("a", "a"), 100, 1e-9);
  EXPECT_NEAR(chrf("a b c", "abc"), 100, 1e-9);
  EXPECT_NEAR(chrf("aa", "ab"), 25, 1e-9);
  EXPECT_EQ(chrf("", "reference"), 0);
  EXPECT_EQ(chrf("a", "b"), 0);
  EXPECT_EQ(chrf("abcdefg", "hijklmnop"), 0);
  Chrf corpus;
  corpus.add("a", "a");
  corpus.add("b", "c");
  EXPECT_NEAR(corpus.score(), 50, 1e-9);
  EXPECT_NEAR(chrf("The relationship between Obama and Netanyahu is not exactly friendly.",
                   "The ties between Obama and Netanyahu are not particularly friendly."),
              61.576379378113785, 1e-9);
}

// Computed by hand: two of three characters match, one of two pairs, and no triple.
TEST(Chrf, CharactersAreNotBytes) {
  double precision = (2.0 / 3 + 1.0 / 2 + 0) / 3;
  EXPECT_NEAR(chrf("äö\u3000ü", "ä öx"), 100 * precision, 1e-9);
}

TEST(Chrf, Signature) {
  Chrf score;
  score.add("a", "a");
  EXPECT_EQ(score.describe(), "chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:heddle.1 = 100.00");
}

} // namespace
