#include "tools/heddle-run/model/Translator.h"
#include "test/tools/FakeEngine.h"
#include "tools/heddle-run/model/Evaluator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace heddle;
using namespace heddle::run;
using heddle::test::FakeEngine;
using Ids = std::vector<int32_t>;

namespace {

std::vector<Ids> randomSentences(size_t count, size_t longest) {
  std::mt19937 random(4);
  std::vector<Ids> sentences(count);
  for (Ids &sentence : sentences) {
    sentence.resize(1 + random() % longest);
    for (int32_t &id : sentence)
      id = int32_t(3 + random() % (FakeEngine::kVocabulary - 3));
  }
  return sentences;
}

class TranslatorTest : public testing::TestWithParam<bool> {
protected:
  std::vector<Ids> translate(FakeEngine &engine, const std::vector<Ids> &sentences, int64_t maximumLength = 0) {
    ModelDescription model = std::move(ModelDescription::parse(engine.description())).value();
    Translator translator(engine, model, {maximumLength, GetParam()});
    auto translations = translator.translate(sentences);
    EXPECT_TRUE(translations.ok()) << translations.message();
    return std::move(*translations);
  }
};

TEST_P(TranslatorTest, ManySentencesInOrder) {
  FakeEngine engine(48, 5, 16);
  std::vector<Ids> sentences = randomSentences(40, 15), translations = translate(engine, sentences);
  ASSERT_EQ(translations.size(), sentences.size());
  for (size_t i = 0; i < sentences.size(); ++i) {
    std::ranges::reverse(sentences[i]);
    EXPECT_EQ(translations[i], sentences[i]) << i;
  }
}

TEST_P(TranslatorTest, MaximumLengthCuts) {
  FakeEngine engine(64, 5, 16);
  std::vector<Ids> translations = translate(engine, {{3, 4, 5, 6}, {7}}, 2);
  EXPECT_EQ(translations[0], (Ids{6, 5}));
  EXPECT_EQ(translations[1], (Ids{7}));
}

// A sentence as long as the model allows, and caches that hold just one of them.
TEST_P(TranslatorTest, LongestSentence) {
  FakeEngine engine(16, 5, 16);
  std::vector<Ids> sentences = {Ids(15, 9), Ids(15, 8)};
  EXPECT_EQ(translate(engine, sentences), sentences);
}

TEST_P(TranslatorTest, NoSentences) {
  FakeEngine engine(16, 5, 16);
  EXPECT_TRUE(translate(engine, {}).empty());
  EXPECT_TRUE(engine.calls.empty());
}

INSTANTIATE_TEST_SUITE_P(Cache, TranslatorTest, testing::Bool(),
                         [](const auto &info) { return info.param ? "With" : "Without"; });

TEST(Translator, EndedSentencesLeave) {
  FakeEngine engine(64, 5, 16);
  ModelDescription model = std::move(ModelDescription::parse(engine.description())).value();
  ASSERT_TRUE(Translator(engine, model, {}).translate(std::vector<Ids>{{3}, {4, 5, 6}, {7, 8}}).ok());
  // One call for the sources, then as many steps as the longest needs.
  EXPECT_EQ(engine.calls.size(), 1u + 4);
}

TEST(Evaluator, MeanOverAllTokens) {
  FakeEngine engine(16, 4, 16);
  SentencePairs pairs;
  for (int i = 0; i < 9; ++i)
    pairs.add(Ids{3, 4}, Ids(size_t(1 + i % 4), 5));
  auto result = evaluate(engine, packInOrder(pairs, {16, 4, 16}));
  ASSERT_TRUE(result.ok()) << result.message();
  EXPECT_EQ(result->tokens, 30);
  EXPECT_DOUBLE_EQ(result->loss, 0.5);
  EXPECT_NEAR(result->perplexity(), 1.6487, 1e-4);
  EXPECT_GT(engine.calls.size(), 1u);
}

} // namespace
