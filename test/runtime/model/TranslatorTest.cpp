#include "runtime/model/Translator.h"
#include "runtime/model/Generator.h"
#include "test/runtime/model/FakeEngine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

using namespace heddle;
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

// Returns approximately the fake engine's total probability of all tokens but the predicted one.
double tailProbability() {
  double sum = 0;
  for (int token = 0; token < FakeEngine::kVocabulary; ++token)
    sum += std::exp(-5 - 0.1 * token);
  return sum;
}

struct Way {
  bool cache;
  int64_t beam;
};

class TranslatorTest : public testing::TestWithParam<Way> {
protected:
  TranslationOptions options(int64_t maximumLength = 0) const {
    TranslationOptions options;
    options.maximumLength = maximumLength;
    options.cache = GetParam().cache;
    options.beam = GetParam().beam;
    return options;
  }

  std::vector<Ids> translate(FakeEngine &engine, const std::vector<Ids> &sentences, int64_t maximumLength = 0) {
    ModelDescription model = std::move(ModelDescription::parse(engine.description())).value();
    Status able = Translator::check(engine, model, options(maximumLength));
    EXPECT_TRUE(able.ok()) << able.message();
    Translator translator(engine, model, options(maximumLength));
    auto translations = translator.translate(sentences);
    EXPECT_TRUE(translations.ok()) << translations.message();
    std::vector<Ids> best;
    for (const Translation &translation : *translations)
      best.push_back(translation.best.front().tokens);
    return best;
  }
};

TEST_P(TranslatorTest, ManySentencesInOrder) {
  FakeEngine engine(80, 9, 16);
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
  // A beam wide enough to include a translation with an end prefers it.
  EXPECT_EQ(translations[0], GetParam().beam == 4 ? Ids() : (Ids{6, 5}));
  EXPECT_EQ(translations[1], (Ids{7}));
}

// The longest allowed sentence, with caches that hold just one of them.
TEST_P(TranslatorTest, LongestSentence) {
  FakeEngine engine(16 * BeamSearch::mostHypotheses(GetParam().beam), 5, 16);
  std::vector<Ids> sentences = {Ids(15, 9), Ids(15, 8)};
  EXPECT_EQ(translate(engine, sentences), sentences);
}

// Without an end mark, a source may be as long as a call, and takes that many rows.
TEST_P(TranslatorTest, SourcesWithoutAnEndMark) {
  FakeEngine engine(17 * BeamSearch::mostHypotheses(GetParam().beam), 5, 17);
  engine.endsSources = false;
  engine.text.insert(1, R"("source_end": false, )");
  std::vector<Ids> sentences = {Ids(16, 9), {3, 4, 5}, {6}};
  for (Ids &sentence : sentences)
    std::ranges::reverse(sentence);
  EXPECT_EQ(translate(engine, {Ids(16, 9), {3, 4, 5}, {6}}), sentences);
  ModelDescription model = std::move(ModelDescription::parse(engine.description())).value();
  Translator translator(engine, model, options());
  EXPECT_EQ(translator.maximumSourceLength(), 17);
  Status empty = translator.add({3, {}, {}, {}});
  EXPECT_NE(empty.message().find("source 3 has 0 tokens; the model translates 1 to 17"), std::string::npos);
}

// With rules, translations are longer than the model would have them, and repeat nothing.
TEST(TokenRules, TranslationsKeepThem) {
  FakeEngine engine(80, 9, 16);
  ModelDescription model = std::move(ModelDescription::parse(engine.description())).value();
  for (int64_t beam : {1, 3})
    for (TokenRules rules : {TokenRules{.noRepeat = 1}, TokenRules{.noRepeat = 2}, TokenRules{.minimumLength = 6},
                             TokenRules{.noRepeat = 2, .minimumLength = 5}}) {
      // The fake engine gives logits only without a cache.
      Translator translator(engine, model, {.maximumLength = 9, .cache = false, .beam = beam, .rules = rules});
      auto translations = translator.translate(randomSentences(12, 6));
      ASSERT_TRUE(translations.ok()) << translations.message();
      for (const Translation &translation : *translations)
        for (const Hypothesis &hypothesis : translation.best) {
          EXPECT_GE(int64_t(hypothesis.tokens.size()), rules.minimumLength);
          Ids all{model.marks.begin};
          all.insert(all.end(), hypothesis.tokens.begin(), hypothesis.tokens.end());
          std::map<Ids, int> seen;
          for (size_t i = 0; rules.noRepeat > 0 && i + size_t(rules.noRepeat) <= all.size(); ++i)
            EXPECT_EQ(++seen[Ids(all.begin() + ptrdiff_t(i), all.begin() + ptrdiff_t(i) + rules.noRepeat)], 1);
        }
    }
}

TEST(TokenRules, WhatMayNotFollow) {
  const Ids none, some{5, 6, 5, 6, 5};
  EXPECT_EQ(TokenRules{}.banned(1, some, 2), Ids());
  EXPECT_EQ((TokenRules{.noRepeat = 2}.banned(1, some, 2)), (Ids{6, 6}));
  EXPECT_EQ((TokenRules{.noRepeat = 3}.banned(1, some, 2)), (Ids{6}));
  EXPECT_EQ((TokenRules{.noRepeat = 4}.banned(1, some, 2)), Ids{6});
  EXPECT_EQ((TokenRules{.noRepeat = 7}.banned(1, some, 2)), Ids());
  EXPECT_EQ((TokenRules{.noRepeat = 1}.banned(1, some, 2)), (Ids{1, 5, 6, 5, 6, 5}));
  EXPECT_EQ((TokenRules{.noRepeat = 1}.banned(1, none, 2)), Ids{1});
  EXPECT_EQ((TokenRules{.noRepeat = 2}.banned(1, none, 2)), Ids());
  EXPECT_EQ((TokenRules{.minimumLength = 6}.banned(1, some, 2)), Ids{2});
  EXPECT_EQ((TokenRules{.minimumLength = 5}.banned(1, some, 2)), Ids());
}

TEST_P(TranslatorTest, NoSentences) {
  FakeEngine engine(64, 5, 16);
  EXPECT_TRUE(translate(engine, {}).empty());
  EXPECT_TRUE(engine.calls.empty());
}

TEST_P(TranslatorTest, PrefixIsTaken) {
  FakeEngine engine(80, 10, 16);
  ModelDescription model = std::move(ModelDescription::parse(engine.description())).value();
  Translator translator(engine, model, options());
  EXPECT_TRUE(translator.add({7, {3, 4, 5, 6}, {20, 21}}).ok());
  EXPECT_TRUE(translator.add({8, {9, 10}, {}}).ok());
  std::map<uint64_t, Hypothesis> best;
  while (translator.pending() != 0) {
    auto finished = translator.step();
    ASSERT_TRUE(finished.ok()) << finished.message();
    for (const Translation &translation : *finished)
      best[translation.number] = translation.best.front();
  }
  EXPECT_EQ(best[7].tokens, (Ids{20, 21, 4, 3}));
  EXPECT_EQ(best[8].tokens, (Ids{10, 9}));
  // Forced tokens count with their low probability.
  double normal = GetParam().cache ? 0 : std::log(std::exp(-0.01) + tailProbability());
  EXPECT_NEAR(best[7].logProbability, -(5 + 2.0 + 5 + 2.1) - 3 * 0.01 - 5 * normal, 3e-2);
}

// Lines that come while others are in work join them; nobody waits until all are finished.
TEST_P(TranslatorTest, PlacesAreRefilled) {
  FakeEngine engine(200, 10, 16);
  ModelDescription model = std::move(ModelDescription::parse(engine.description())).value();
  Translator translator(engine, model, options());
  EXPECT_TRUE(translator.add({0, Ids(15, 9), {}}).ok());
  ASSERT_TRUE(translator.step().ok());
  EXPECT_TRUE(translator.add({1, {5}, {}}).ok());
  bool shortCameFirst = false;
  while (translator.pending() != 0) {
    auto finished = translator.step();
    ASSERT_TRUE(finished.ok());
    for (const Translation &translation : *finished)
      shortCameFirst |= translation.number == 1 && translator.pending() == 1;
  }
  EXPECT_TRUE(shortCameFirst);
}

// Translations that turn out longer than expected fill the caches: the latest ones start again.
TEST_P(TranslatorTest, FullCachesLoseNothing) {
  FakeEngine engine(14 * BeamSearch::mostHypotheses(GetParam().beam), 20, 16);
  ModelDescription model = std::move(ModelDescription::parse(engine.description())).value();
  Translator translator(engine, model, options(13));
  for (uint64_t i = 0; i < 6; ++i)
    EXPECT_TRUE(translator.add({i, {5}, Ids(12, int32_t(20 + i))}).ok()); // expected to have 5 tokens, but has 12
  size_t count = 0;
  while (translator.pending() != 0) {
    auto finished = translator.step();
    ASSERT_TRUE(finished.ok()) << finished.message();
    for (const Translation &translation : *finished) {
      EXPECT_EQ(translation.best.front().tokens, Ids(12, int32_t(20 + translation.number)));
      ++count;
    }
  }
  EXPECT_EQ(count, 6u);
}

INSTANTIATE_TEST_SUITE_P(Ways, TranslatorTest,
                         testing::Values(Way{true, 1}, Way{true, 3}, Way{true, 4}, Way{false, 1}, Way{false, 3}),
                         [](const auto &info) {
                           return (info.param.cache ? "Cache" : "NoCache") + std::to_string(info.param.beam);
                         });

TEST(Translator, EndedSentencesLeave) {
  FakeEngine engine(64, 5, 16);
  ModelDescription model = std::move(ModelDescription::parse(engine.description())).value();
  ASSERT_TRUE(Translator(engine, model, {}).translate(std::vector<Ids>{{3}, {4, 5, 6}, {7, 8}}).ok());
  // One call for the sources, then as many steps as the longest needs.
  EXPECT_EQ(engine.calls.size(), 1u + 4);
}

TEST(Translator, SourcesOfNoOrTooManyTokensAreErrors) {
  FakeEngine engine(64, 5, 16);
  ModelDescription model = std::move(ModelDescription::parse(engine.description())).value();
  auto message = [&](const Ids &source) {
    return Translator(engine, model, {}).translate(std::vector<Ids>{{3}, source}).message();
  };
  EXPECT_NE(message({}).find("source 1 has 0 tokens"), std::string::npos) << message({});
  EXPECT_NE(message(Ids(100, 3)).find("source 1 has 100 tokens; the model translates 1 to 15"), std::string::npos);
}

// Repeated as often as there are rows: none may be lost.
TEST(Translator, NothingIsLeftOfWhatFailed) {
  FakeEngine engine(64, 5, 16);
  ModelDescription model = std::move(ModelDescription::parse(engine.description())).value();
  Translator translator(engine, model, {});
  std::vector<Ids> sentences = {{3}, {4, 5, 6}, {7, 8}, {9, 10, 11}, {12}, {13, 14}, {15}};
  for (int i = 0; i < 100; ++i) {
    engine.failing = i % 2 ? "encode" : "beam_step";
    EXPECT_FALSE(translator.translate(sentences).ok());
    EXPECT_EQ(translator.pending(), 0u);
  }
  engine.failing.clear();
  auto translations = translator.translate(std::vector<Ids>{{3, 4}});
  ASSERT_TRUE(translations.ok()) << translations.message();
  EXPECT_EQ(translations->front().best.front().tokens, (Ids{4, 3}));
}

TEST(Translator, RefusesWhatItHasNoRoomFor) {
  FakeEngine engine(64, 5, 16);
  ModelDescription model = std::move(ModelDescription::parse(engine.description())).value();
  Translator translator(engine, model, {});
  EXPECT_NE(translator.add({3, {}, {}, {}}).message().find("source 3 has 0 tokens"), std::string::npos);
  std::string tooLong = translator.add({4, {5}, Ids(16, 6), {}}).message();
  EXPECT_NE(tooLong.find("the translation of source 4 is to begin with 16 tokens; there is room for 15"),
            std::string::npos)
      << tooLong;
  EXPECT_EQ(translator.pending(), 0u);
  ASSERT_TRUE(translator.add({5, {5}, {}, {}}).ok());
  std::string together = translator.translate(std::vector<Ids>{{3}}).message();
  EXPECT_NE(together.find("1 sentences that were added are not finished"), std::string::npos) << together;
}

// Sentences with different beams run in parallel; cancelling one leaves the others unchanged.
TEST(Translator, ABeamForEachSentence) {
  FakeEngine engine(256, 16, 32);
  ModelDescription model = std::move(ModelDescription::parse(engine.description())).value();
  Translator translator(engine, model, {});
  std::vector<Ids> sentences = randomSentences(24, 8);
  auto request = [&](uint64_t number) {
    TranslationRequest made;
    made.number = number;
    made.source = sentences[number];
    made.beam = int64_t(number % 4) + 1;
    return made;
  };
  for (uint64_t number = 0; number < sentences.size(); ++number)
    ASSERT_TRUE(translator.add(request(number)).ok());
  std::map<uint64_t, std::vector<Hypothesis>> all;
  for (int step = 0; translator.pending() != 0 && step < 1000; ++step) {
    if (step == 2) {
      EXPECT_TRUE(translator.cancel(3));
      EXPECT_TRUE(translator.cancel(20));
      EXPECT_FALSE(translator.cancel(20));
    }
    Result<std::vector<Translation>> finished = translator.step();
    ASSERT_TRUE(finished.ok()) << finished.message();
    for (Translation &each : *finished)
      all.emplace(each.number, std::move(each.best));
  }
  EXPECT_EQ(all.size(), sentences.size() - 2);
  for (auto &[number, best] : all) {
    EXPECT_EQ(best.size(), number % 4 + 1) << number;
    EXPECT_EQ(best.front().tokens, Ids(sentences[number].rbegin(), sentences[number].rend())) << number;
  }
  TranslationRequest wide = request(0);
  wide.beam = FakeEngine::kBeam + 1;
  EXPECT_NE(translator.add(std::move(wide)).message().find("asks for a beam of 5"), std::string::npos);
}

TEST(Generator, RefusesPromptsThatItHasNoRoomFor) {
  FakeEngine engine(64, 5, 16);
  engine.entries.insert("decode_step");
  ModelDescription model = std::move(ModelDescription::parse(engine.description())).value();
  Generator generator(engine, model);
  EXPECT_NE(generator.add({2, {}}).message().find("prompt 2 has 0 tokens; the model continues 1 to 15"),
            std::string::npos);
  EXPECT_FALSE(generator.add({2, Ids(16, 3)}).ok());
  EXPECT_TRUE(generator.add({2, Ids(15, 3)}).ok());
  EXPECT_EQ(generator.pending(), 1u);
}

// If a failure lost rows, a later step would find no room and silently do nothing.
TEST(Generator, NothingIsLeftOfWhatFailed) {
  FakeEngine engine(64, 5, 16);
  engine.failing = "decode_step";
  engine.entries.insert("decode_step");
  ModelDescription model = std::move(ModelDescription::parse(engine.description())).value();
  Generator generator(engine, model);
  for (uint64_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(generator.add({i, {3, 4}}).ok());
    EXPECT_FALSE(generator.step().ok());
    EXPECT_EQ(generator.pending(), 0u);
  }
}

TEST(Translator, SaysWhatTheModelCannotDo) {
  FakeEngine engine(64, 5, 16);
  ModelDescription model = std::move(ModelDescription::parse(engine.description())).value();
  TranslationOptions options;
  options.beam = 5;
  EXPECT_NE(Translator::check(engine, model, options).message().find("--set beam=5"), std::string::npos);
  options.beam = 4;
  EXPECT_TRUE(Translator::check(engine, model, options).ok());
  engine.entries.erase("beam_step");
  EXPECT_NE(Translator::check(engine, model, options).message().find("beam_step"), std::string::npos);
}

TEST(RowRanges, RowsAreTakenApartAndWhereTheyAre) {
  RowRanges rows(10);
  EXPECT_EQ(rows.takeApart(2), 0);
  EXPECT_EQ(rows.takeApart(2), 5); // in the middle of the eight other rows
  EXPECT_TRUE(rows.takeAt(2, 3));
  EXPECT_FALSE(rows.takeAt(4, 1));
  EXPECT_FALSE(rows.takeAt(6, 2));
  EXPECT_FALSE(rows.takeAt(9, 2));
  EXPECT_TRUE(rows.takeAt(9, 1));
  EXPECT_EQ(rows.takeApart(3), std::nullopt);
  rows.giveBack(2, 3);
  EXPECT_TRUE(rows.takeAt(3, 1));
  EXPECT_EQ(rows.take(2), 7);
}

// Finished texts keep their rows until others need them, and can start the next text.
TEST(SequenceRows, KeptTextsGiveWay) {
  SequenceRows rows(20);
  std::optional<SequenceRange> first = rows.take(4, false), second = rows.take(4, false);
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(rows.grow(*first, 5));
  rows.keep(*second, {1, 2, 3});
  EXPECT_TRUE(rows.grow(*first, 8));
  rows.keep(*first, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_FALSE(rows.reuse(Ids{1, 2, 3, 9}, 10, 4)); // five of its tokens would be lost
  EXPECT_EQ(rows.find(Ids{1, 2, 3, 9})->tokens, 3);
  EXPECT_FALSE(rows.find(Ids{9, 1}));
  EXPECT_FALSE(rows.take(13, false, Ids{1, 9})); // the text stays if it is spared
  std::optional<SequenceRows::Reused> reused = rows.reuse(Ids{1, 2, 3, 4, 5, 9}, 10, 4);
  ASSERT_TRUE(reused);
  EXPECT_EQ(reused->tokens, 5);
  EXPECT_EQ(reused->range.first, 0);
  EXPECT_EQ(reused->range.count, 10);
  EXPECT_FALSE(rows.reuse(Ids{1, 2, 3, 4, 5, 9}, 10, 4)); // its rows are in use
  rows.keep(reused->range, {1, 2});
  EXPECT_TRUE(rows.take(20, false));
}

TEST(RowRanges, GapsCloseAgain) {
  RowRanges rows(10);
  EXPECT_EQ(rows.take(4), 0);
  EXPECT_EQ(rows.take(4), 4);
  EXPECT_EQ(rows.take(3), std::nullopt);
  rows.giveBack(0, 4);
  EXPECT_EQ(rows.take(5), std::nullopt);
  EXPECT_EQ(rows.take(3), 0);
  rows.giveBack(4, 4);
  EXPECT_EQ(rows.take(7), 3);
  rows.giveBack(0, 3);
  rows.giveBack(3, 7);
  EXPECT_EQ(rows.take(10), 0);
}

} // namespace
