#include "tools/heddle-data/Parses.h"
#include "tools/heddle-data/Brackets.h"

#include <gtest/gtest.h>

#include <set>
#include <sstream>

using namespace heddle;
using namespace heddle::demo;

namespace {

std::vector<Bracket> bracketsOf(std::string_view line) {
  std::optional<Tree> tree = parseTree(line);
  return tree ? tree->brackets : std::vector<Bracket>{{"no tree", 0, 0}};
}

TEST(BracketsTest, SpansAreOfWords) {
  EXPECT_EQ(bracketsOf("(S (NP DT NN ) (VP VBZ ) . )"),
            (std::vector<Bracket>{{"NP", 0, 2}, {"S", 0, 3}, {"VP", 2, 3}}));
  EXPECT_EQ(parseTree("(S (NP DT NN ) (VP VBZ ) . )")->words, 3) << "punctuation is no word";
  EXPECT_EQ(bracketsOf("(S (NP DT NN )NP (VP VBZ )VP . )S"), bracketsOf("(S (NP DT NN ) (VP VBZ ) . )"));
  EXPECT_EQ(bracketsOf("(S(NP DT NN)(VP VBZ) .)"), bracketsOf("(S (NP DT NN ) (VP VBZ ) . )"));
}

TEST(BracketsTest, RulesOfEvalb) {
  EXPECT_EQ(bracketsOf("(TOP (S (NP-SBJ NN ) (NP=2 NN ) ) )"),
            (std::vector<Bracket>{{"NP", 0, 1}, {"NP", 1, 2}, {"S", 0, 2}}));
  EXPECT_EQ(bracketsOf("(S (PRT RP ) )"), bracketsOf("(S (ADVP RP ) )"));
  EXPECT_EQ(bracketsOf("(S (X , : ) NN `` '' )"), (std::vector<Bracket>{{"S", 0, 1}})) << "a bracket of no word";
  EXPECT_EQ(bracketsOf("(NP (NP NN ) )"), (std::vector<Bracket>{{"NP", 0, 1}, {"NP", 0, 1}})) << "each counts";
}

TEST(BracketsTest, WhatIsNoTree) {
  for (const char *line : {"", "NN", "(S", "(S NN", "(S NN ) )", "(S NN ) (S NN )", "(S )", ") (S NN )",
                           "(S (NP ) NN )", "(S (NP NN )VP )S"})
    EXPECT_FALSE(parseTree(line)) << line;
  EXPECT_FALSE(parseTree(std::string(10'000'000, '(')));
}

TEST(BracketsTest, Score) {
  BracketScore score;
  Tree reference = *parseTree("(S (NP DT NN ) (VP VBZ (NP NNP ) ) . )"); // 4 brackets
  score.add(reference, parseTree("(S (NP DT NN ) (VP VBZ (NP NNP ) ) . )"));
  EXPECT_EQ(score.f1(), 1);
  EXPECT_EQ(score.complete(), 1);
  // S and VP are right, one NP is in the wrong place, and one has another label.
  score.add(reference, parseTree("(S (NP DT ) NN (VP VBZ (PP NNP ) ) . )"));
  EXPECT_DOUBLE_EQ(score.precision(), 6.0 / 8);
  EXPECT_DOUBLE_EQ(score.recall(), 6.0 / 8);
  score.add(reference, parseTree("(S (NP DT NN ) )")); // too few words
  score.add(reference, parseTree("(S ("));
  EXPECT_DOUBLE_EQ(score.precision(), 6.0 / 8);
  EXPECT_DOUBLE_EQ(score.recall(), 6.0 / 16);
  EXPECT_DOUBLE_EQ(score.f1(), 2 * 6.0 / 24);
  EXPECT_EQ(score.unusable(), 2u);
  EXPECT_DOUBLE_EQ(score.complete(), 0.25);
}

TEST(BracketsTest, ABracketMatchesOnce) {
  BracketScore score;
  score.add(*parseTree("(NP (NP NN ) )"), parseTree("(NP NN )"));
  EXPECT_EQ(score.precision(), 1);
  EXPECT_EQ(score.recall(), 0.5);
}

TEST(GrammarTest, TreesFitTheirSentences) {
  SplitMix64 random(3);
  for (int i = 0; i < 2'000; ++i) {
    ParsedSentence sentence = drawSentence(random, 20);
    std::optional<Tree> tree = parseTree(sentence.tree);
    ASSERT_TRUE(tree) << sentence.tree;
    std::istringstream stream(sentence.words);
    int words = 0, punctuation = 0;
    for (std::string word; stream >> word; ++words)
      punctuation += word == "." || word == ",";
    EXPECT_EQ(words, sentence.length);
    EXPECT_LE(words, 20);
    EXPECT_EQ(tree->words, words - punctuation) << sentence.words << "\n" << sentence.tree;
  }
}

TEST(GrammarTest, SentencesAreOfOnePart) {
  ParseOptions options;
  options.train = 300, options.valid = 50, options.test = 70;
  DataFiles files = parseFiles(options).value();
  std::set<std::string> names, seen;
  for (const auto &[name, text] : files) {
    names.insert(name);
    std::istringstream lines(text);
    for (std::string line; name.ends_with(".txt") && std::getline(lines, line);)
      EXPECT_TRUE(seen.insert(line).second) << line;
  }
  EXPECT_EQ(names,
            (std::set<std::string>{"train.txt", "train.tree", "valid.txt", "valid.tree", "test.txt", "test.tree"}));
  EXPECT_EQ(seen.size(), 420u);
  EXPECT_EQ(parseFiles(options).value(), files) << "the same options, the same files";
  options.longest = 3;
  options.train = 1'000'000;
  EXPECT_NE(parseFiles(options).message().find("too few sentences"), std::string::npos);
}

} // namespace
