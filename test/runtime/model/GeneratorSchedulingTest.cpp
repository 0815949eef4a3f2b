// Sequences that join, leave, grow and fail beside others: each must get the same text as alone.
#include "runtime/model/Generator.h"
#include "test/runtime/model/FakeEngine.h"
#include "test/runtime/model/HashEngine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

using namespace heddle;

namespace {

using Ids = std::vector<int32_t>;
using test::HashEngine;

constexpr int32_t kPoison = HashEngine::kPoison;

// Returns the most probable tokens, computed without an engine.
Ids greedy(Ids prompt, int64_t count) {
  size_t first = prompt.size();
  while (int64_t(prompt.size() - first) < count) {
    std::vector<float> logits = HashEngine::logitsAfter(prompt);
    prompt.push_back(int32_t(std::ranges::max_element(logits) - logits.begin()));
  }
  return {prompt.begin() + ptrdiff_t(first), prompt.end()};
}

Ids promptOf(uint64_t seed, size_t length) {
  Ids prompt;
  for (size_t i = 0; i < length; ++i)
    prompt.push_back(3 + int32_t(uniform(seed, 7, i) * 50));
  return prompt;
}

class GeneratorSchedulingTest : public testing::Test {
protected:
  static constexpr int64_t kRows = 128, kSequences = 4, kLength = 96;

  std::map<uint64_t, Continuation> finish(Generator &generator) {
    std::map<uint64_t, Continuation> all;
    for (int steps = 0; generator.pending() != 0 && steps < 10'000; ++steps) {
      Result<std::vector<Continuation>> finished = generator.step();
      EXPECT_TRUE(finished.ok()) << finished.message();
      if (!finished.ok())
        break;
      for (Continuation &each : *finished)
        all.emplace(each.number, std::move(each));
    }
    EXPECT_EQ(generator.pending(), 0u);
    return all;
  }

  HashEngine engine{kRows};
  ModelDescription model =
      std::move(ModelDescription::parse(test::FakeEngine(kRows, kSequences, kLength).description())).value();
};

// Sequences that outgrow their share of the caches are moved or wait; their text stays the same.
TEST_F(GeneratorSchedulingTest, SequencesGrowAndStayTheSame) {
  Generator generator(engine, model);
  for (uint64_t number = 0; number < 12; ++number)
    ASSERT_TRUE(generator.add({number, promptOf(number, 1 + number), {.tokens = 80}}).ok());
  auto all = finish(generator);
  ASSERT_EQ(all.size(), 12u);
  for (auto &[number, answer] : all)
    EXPECT_EQ(answer.tokens, greedy(promptOf(number, 1 + number), 80)) << number;
}

// A sequence that another one keeps from growing moves by a copy: no token is computed twice.
TEST_F(GeneratorSchedulingTest, MovedRowsAreCopied) {
  HashEngine large(1300);
  model.cacheRows = model.maximumLength = 1300;
  model.maximumSequences = 8;
  Generator generator(large, model, {}, {.keepsTexts = true});
  ASSERT_TRUE(generator.add({1, promptOf(1, 5), {.tokens = 400}}).ok());
  ASSERT_TRUE(generator.add({2, promptOf(2, 5), {.tokens = 300}}).ok()); // gets the rows behind the first
  auto all = finish(generator);
  EXPECT_EQ(all.at(1).tokens, greedy(promptOf(1, 5), 400));
  EXPECT_EQ(all.at(2).tokens, greedy(promptOf(2, 5), 300));
  size_t computed = 0;
  for (auto &[entry, rows] : large.calls)
    computed += rows;
  EXPECT_EQ(computed, 4u + 400 + 4 + 300);
  EXPECT_EQ(large.copied, 167);
}

TEST_F(GeneratorSchedulingTest, EachPromptHasItsOwnOptions) {
  Generator generator(engine, model);
  SamplingOptions drawn{.temperature = 1, .seed = 9};
  ASSERT_TRUE(generator.add({1, {5, 6}, {.tokens = 3}}).ok());
  ASSERT_TRUE(generator.add({2, {5, 6}, {.tokens = 8, .sampling = drawn}}).ok());
  ASSERT_TRUE(generator.add({3, {5, 6}, {.tokens = 5, .sampling = SamplingOptions{.seed = 9, .minP = 0.01}}}).ok());
  auto all = finish(generator);
  EXPECT_EQ(all.at(1).tokens, greedy({5, 6}, 3));
  EXPECT_EQ(all.at(1).ending, Ending::Length);
  EXPECT_EQ(all.at(2).tokens.size(), 8u);
  EXPECT_NE(all.at(2).tokens, greedy({5, 6}, 8));
  EXPECT_EQ(all.at(3).tokens.size(), 5u);
}

// Random numbers depend on the seed and on the number that the caller gives, not on when the prompt came.
TEST_F(GeneratorSchedulingTest, DrawsDoNotDependOnTheOrderOfArrival) {
  auto drawn = [&](uint64_t number, uint64_t draws) {
    return Prompt{number, {8, 9, 10}, {.tokens = 20, .sampling = SamplingOptions{.seed = 4}}, draws};
  };
  Generator generator(engine, model);
  for (const Prompt &prompt : {drawn(1, 0), drawn(2, 1), drawn(3, 0)})
    ASSERT_TRUE(generator.add(prompt).ok());
  ASSERT_TRUE(generator.step().ok());
  ASSERT_TRUE(generator.add(drawn(4, 1)).ok());
  auto all = finish(generator);
  EXPECT_EQ(all.at(1).tokens, all.at(3).tokens);
  EXPECT_EQ(all.at(2).tokens, all.at(4).tokens);
  EXPECT_NE(all.at(1).tokens, all.at(2).tokens);
}

TEST_F(GeneratorSchedulingTest, AnErrorSparesTheOthers) {
  Generator generator(engine, model);
  ASSERT_TRUE(generator.add({1, {5, kPoison}, {.tokens = 8}}).ok());
  ASSERT_TRUE(generator.add({2, {5, kPoison}, {.tokens = 8, .alternatives = 0}}).ok());
  ASSERT_TRUE(generator.add({3, {5, 6}, {.tokens = 8}}).ok());
  EXPECT_FALSE(generator.add({4, {5, 64}, {}}).ok()); // a token that the model does not have
  auto all = finish(generator);
  for (uint64_t number : {1, 2}) {
    EXPECT_EQ(all.at(number).ending, Ending::Error);
    ASSERT_TRUE(all.at(number).error.has_value());
    EXPECT_NE(all.at(number).error->message.find("not numbers"), std::string::npos);
  }
  EXPECT_EQ(all.at(3).tokens, greedy({5, 6}, 8));
}

TEST_F(GeneratorSchedulingTest, WhatIsCancelledLeaves) {
  Generator generator(engine, model);
  for (uint64_t number = 0; number < 8; ++number)
    ASSERT_TRUE(generator.add({number, promptOf(number, 4), {.tokens = 20}}).ok());
  ASSERT_TRUE(generator.step().ok());
  EXPECT_EQ(generator.inWork(), 4u);
  EXPECT_TRUE(generator.cancel(0)); // being generated
  EXPECT_TRUE(generator.cancel(7)); // waiting
  EXPECT_FALSE(generator.cancel(7));
  EXPECT_EQ(generator.pending(), 6u);
  auto all = finish(generator);
  ASSERT_EQ(all.size(), 6u);
  for (auto &[number, answer] : all)
    EXPECT_EQ(answer.tokens, greedy(promptOf(number, 4), 20)) << number;
}

// A long prompt is read in parts. A sequence beside it gets a token with each part, and a short prompt does not wait.
TEST_F(GeneratorSchedulingTest, LongPromptsAreReadInParts) {
  std::map<uint64_t, size_t> stepOfFirst;
  size_t step = 0;
  Generator generator(engine, model,
                      [&](const Progress &progress) { return stepOfFirst.try_emplace(progress.number, step), false; },
                      {.promptTokens = 8});
  ASSERT_TRUE(generator.add({1, promptOf(1, 60), {.tokens = 4}}).ok());
  ASSERT_TRUE(generator.add({2, promptOf(2, 3), {.tokens = 4}}).ok());
  std::map<uint64_t, Continuation> all;
  for (; generator.pending() != 0 && step < 100; ++step) {
    auto finished = generator.step();
    ASSERT_TRUE(finished.ok());
    for (Continuation &each : *finished)
      all.emplace(each.number, std::move(each));
  }
  EXPECT_EQ(stepOfFirst.at(2), 0u);
  EXPECT_EQ(stepOfFirst.at(1), 7u); // 59 tokens minus 2 of the other sequence, 8 per step
  for (auto &[entry, rows] : engine.calls)
    EXPECT_LE(rows, 8u);
  EXPECT_EQ(all.at(1).tokens, greedy(promptOf(1, 60), 4));
  EXPECT_EQ(all.at(2).tokens, greedy(promptOf(2, 3), 4));
}

TEST_F(GeneratorSchedulingTest, TokensAreScored) {
  Ids prompt = promptOf(3, 9);
  for (bool readsAhead : {true, false}) {
    if (!readsAhead)
      engine.entries.erase("prefill");
    Generator generator(engine, model);
    ASSERT_TRUE(generator.add({1, prompt, {.tokens = 2, .alternatives = 2, .scoresPrompt = true}}).ok());
    ASSERT_TRUE(generator.add({2, prompt, {.tokens = 0, .alternatives = 0, .scoresPrompt = true}}).ok());
    ASSERT_TRUE(generator.add({3, prompt, {.tokens = 0}}).ok());
    ASSERT_TRUE(generator.add({4, prompt, {.tokens = 2}}).ok());
    auto all = finish(generator);
    EXPECT_EQ(all.at(1).tokens, greedy(prompt, 2));
    EXPECT_EQ(all.at(1).tokens, all.at(4).tokens);
    EXPECT_TRUE(all.at(2).tokens.empty());
    EXPECT_TRUE(all.at(3).tokens.empty());
    ASSERT_EQ(all.at(1).scores.size(), 2u);
    for (uint64_t number : {1, 2}) {
      const std::vector<TokenScore> &scores = all.at(number).promptScores;
      ASSERT_EQ(scores.size(), 8u);
      for (size_t i = 0; i < scores.size(); ++i) {
        std::vector<float> logits = HashEngine::logitsAfter(std::span(prompt).first(i + 1));
        EXPECT_NEAR(scores[i].logProbability, logProbability(logits, prompt[i + 1]), 1e-4);
      }
    }
    const TokenScore &first = all.at(1).scores.front();
    ASSERT_EQ(first.best.size(), 2u);
    EXPECT_EQ(first.best[0].token, all.at(1).tokens[0]);
    EXPECT_EQ(first.best[0].logProbability, first.logProbability);
    EXPECT_GT(first.best[0].logProbability, first.best[1].logProbability);
  }
}

// The second turn of a conversation computes only its new tokens.
TEST_F(GeneratorSchedulingTest, TextsThatAreOverBeginTheNextOnes) {
  Generator generator(engine, model, {}, {.keepsTexts = true});
  Ids text = promptOf(5, 10);
  for (int turn = 0; turn < 4; ++turn) {
    engine.calls.clear();
    ASSERT_TRUE(generator.add({1, text, {.tokens = 6}}).ok());
    auto all = finish(generator);
    EXPECT_EQ(all.at(1).tokens, greedy(text, 6));
    // 3 new tokens, and the last token of the last answer.
    EXPECT_EQ(all.at(1).reused, turn == 0 ? 0 : int64_t(text.size()) - 4);
    size_t computed = 0;
    for (auto &[entry, rows] : engine.calls)
      computed += rows;
    EXPECT_EQ(computed, (turn == 0 ? 10u : 4u) + 5u);
    text.insert(text.end(), all.at(1).tokens.begin(), all.at(1).tokens.end());
    text.insert(text.end(), {7, 8, int32_t(9 + turn)});
  }
  // Kept texts give way to new ones.
  for (uint64_t number = 0; number < 12; ++number)
    ASSERT_TRUE(generator.add({number, promptOf(number, 30), {.tokens = 60}}).ok());
  for (auto &[number, answer] : finish(generator))
    EXPECT_EQ(answer.tokens, greedy(promptOf(number, 30), 60)) << number;
  generator.forgetKept();
  ASSERT_TRUE(generator.add({1, promptOf(1, 30), {.tokens = 2}}).ok());
  EXPECT_EQ(finish(generator).at(1).reused, 0);
}

// Sequences side by side compute a common prefix once, and later ones do not compute it at all.
TEST_F(GeneratorSchedulingTest, ACommonPrefixIsComputedOnce) {
  for (int64_t promptTokens : {0, 11}) {
    engine.calls.clear();
    Generator generator(engine, model, {}, {.promptTokens = promptTokens, .keepsTexts = true});
    auto promptWith = [](int32_t number) {
      Ids prompt = promptOf(11, 20);
      prompt.insert(prompt.end(), {7, 8, 9 + number});
      return prompt;
    };
    auto computed = [&] {
      size_t sum = 0;
      for (auto &[entry, rows] : std::exchange(engine.calls, {}))
        sum += rows;
      return sum;
    };
    for (int32_t number = 0; number < 4; ++number)
      ASSERT_TRUE(generator.add({uint64_t(number), promptWith(number), {.tokens = 5}}).ok());
    auto all = finish(generator);
    for (auto &[number, answer] : all) {
      EXPECT_EQ(answer.tokens, greedy(promptWith(int32_t(number)), 5)) << number;
      EXPECT_EQ(answer.reused, number == 0 ? 0 : 22) << number;
    }
    EXPECT_EQ(computed(), 22u + 4 + 4 * 4); // the prefix, a last token each, the answers
    // A text that differs earlier takes the common part, and leaves the kept text to its next turn.
    Ids other = promptOf(11, 18), next = promptWith(0);
    other.insert(other.end(), {30, 31});
    next.insert(next.end(), all.at(0).tokens.begin(), all.at(0).tokens.end());
    next.push_back(12);
    ASSERT_TRUE(generator.add({5, other, {.tokens = 5}}).ok());
    ASSERT_TRUE(generator.add({6, next, {.tokens = 5}}).ok());
    all = finish(generator);
    EXPECT_EQ(all.at(5).tokens, greedy(other, 5));
    EXPECT_EQ(all.at(5).reused, 18);
    EXPECT_EQ(all.at(6).tokens, greedy(next, 5));
    EXPECT_EQ(all.at(6).reused, int64_t(next.size()) - 2);
    EXPECT_EQ(computed(), 2u + 2 + 2 * 4);
  }
}

// Texts that branch from each other, come in any order, are cancelled and outgrow the caches: reuse changes no text.
TEST_F(GeneratorSchedulingTest, SharedPrefixesChangeNoText) {
  for (uint64_t round = 0; round < 20; ++round) {
    Generator generator(engine, model, {}, {.promptTokens = int64_t(round % 3) * 9, .keepsTexts = true});
    std::map<uint64_t, Ids> prompts;
    auto draw = [&, count = uint64_t(0)](size_t below) mutable {
      return size_t(uniform(round, 3, count++) * double(below));
    };
    std::map<uint64_t, Continuation> all;
    auto step = [&] {
      Result<std::vector<Continuation>> finished = generator.step();
      ASSERT_TRUE(finished.ok()) << finished.message();
      for (Continuation &each : *finished)
        all.emplace(each.number, std::move(each));
    };
    for (uint64_t number = 0; number < 40; ++number) {
      Ids prompt = promptOf(draw(3), 4 + draw(40)); // prefixes of three texts
      Ids rest = promptOf(100 + draw(4), draw(12));
      prompt.insert(prompt.end(), rest.begin(), rest.end());
      prompts[number] = prompt;
      ASSERT_TRUE(generator.add({number, prompt, {.tokens = 1 + int64_t(draw(40))}}).ok());
      for (size_t steps = draw(6); steps > 0; --steps)
        step();
      if (draw(8) == 0)
        generator.cancel(draw(number + 1));
    }
    while (generator.pending() != 0)
      step();
    for (auto &[number, answer] : all)
      EXPECT_EQ(answer.tokens, greedy(prompts[number], int64_t(answer.tokens.size()))) << round << " " << number;
  }
  EXPECT_GT(engine.copied, 1000);
}

// The caches hold more tokens than a call.
TEST_F(GeneratorSchedulingTest, CachesMayHaveMoreRowsThanACallHasTokens) {
  model.maximumTokens = 16;
  model.cacheRows = kRows;
  Generator generator(engine, model);
  for (uint64_t number = 0; number < 4; ++number)
    ASSERT_TRUE(generator.add({number, promptOf(number, 20 + 10 * number), {.tokens = 12}}).ok());
  for (auto &[number, answer] : finish(generator))
    EXPECT_EQ(answer.tokens, greedy(promptOf(number, 20 + 10 * number), 12)) << number;
  for (auto &[entry, rows] : engine.calls)
    EXPECT_LE(rows, 16u);
}

// A prompt without room lets smaller prompts pass, and is not forgotten.
TEST_F(GeneratorSchedulingTest, SmallPromptsPassALargeOne) {
  std::vector<uint64_t> order;
  Generator generator(engine, model, [&](const Progress &progress) {
    if (progress.tokens.size() == 1)
      order.push_back(progress.number);
    return false;
  });
  ASSERT_TRUE(generator.add({1, promptOf(1, 90), {.tokens = 6}}).ok());
  ASSERT_TRUE(generator.add({2, promptOf(2, 90), {.tokens = 6}}).ok());
  for (uint64_t number = 3; number < 200; ++number)
    ASSERT_TRUE(generator.add({number, promptOf(number, 4), {.tokens = 6}}).ok());
  auto all = finish(generator);
  EXPECT_EQ(all.size(), 199u);
  EXPECT_EQ(order[0], 1u);
  EXPECT_EQ(order[1], 3u);
  auto second = std::ranges::find(order, 2u) - order.begin();
  EXPECT_GT(second, 1);
  EXPECT_LT(second, 80);
}

} // namespace
