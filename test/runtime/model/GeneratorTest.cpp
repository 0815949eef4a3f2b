#include "runtime/model/Generator.h"
#include "test/runtime/model/FakeEngine.h"
#include "test/runtime/model/WeightlessEngine.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace heddle;

namespace {

constexpr size_t kVocabulary = 64;

// Gives every row the same logits. Its device chooses the largest penalized logit.
class FixedLogits final : public test::WeightlessEngine {
public:
  FixedLogits(std::set<std::string, std::less<>> entries, std::vector<float> logits)
      : entries(std::move(entries)), logits(std::move(logits)) {}

  bool hasEntry(std::string_view entry) const override { return entries.contains(entry); }

  Status run(std::string_view entry, std::span<const Input> inputs) override {
    calls.emplace_back(entry);
    auto find = [&](std::string_view name) {
      return std::ranges::find(inputs, name, [](const Input &input) { return input.name; });
    };
    rows = find("token")->tensor.values<int32_t>().size();
    rowsOfCalls.push_back(rows);
    next.clear();
    for (size_t row = 0; row < rows; ++row) {
      std::vector<float> own = logits;
      if (entry == "sample_step") {
        auto of = find("seen_rows")->tensor.values<int32_t>(), token = find("seen_tokens")->tensor.values<int32_t>();
        auto penalty = find("penalty")->tensor.values<float>();
        for (size_t i = 0; i < of.size(); ++i)
          if (size_t(of[i]) == row)
            own[size_t(token[i])] /= penalty[i];
      }
      next.push_back(int32_t(std::ranges::max_element(own) - own.begin()));
    }
    return Success();
  }

  Result<HostTensor> output(std::string_view name) override {
    if (name == "next_token")
      return HostTensor::vector(next);
    std::vector<float> all;
    for (size_t row = 0; row < rows; ++row)
      all.insert(all.end(), logits.begin(), logits.end());
    return HostTensor::vector(all);
  }

  std::vector<std::string> calls;
  std::vector<size_t> rowsOfCalls;

private:
  std::set<std::string, std::less<>> entries;
  std::vector<float> logits;
  std::vector<int32_t> next;
  size_t rows = 0;
};

class GeneratorTest : public testing::Test {
protected:
  GeneratorTest() : logits(kVocabulary, 0.0f) { logits[3] = 2, logits[4] = 1.9f, logits[5] = 1.5f; }

  std::vector<int32_t> generate(FixedLogits &engine, const GenerationOptions &options) {
    Generator generator(engine, model);
    EXPECT_TRUE(generator.add({0, {3, 4}, options}).ok());
    while (generator.pending() != 0) {
      Result<std::vector<Continuation>> finished = generator.step();
      if (!finished.ok()) {
        ADD_FAILURE() << finished.message();
        break;
      }
      if (!finished->empty())
        return finished->front().tokens;
    }
    return {};
  }

  std::vector<float> logits;
  ModelDescription model = std::move(ModelDescription::parse(test::FakeEngine(64, 4, 16).description())).value();
};

// A penalty of 10 turns the three large logits into 0.2, 0.19 and 0.15, each still larger than the other logits, which
// are 0.
TEST_F(GeneratorTest, ThePenaltyLooksAtTheLastTokens) {
  for (const char *entry : {"sample_step", "decode_step"}) {
    FixedLogits engine({entry}, logits);
    auto withWindow = [&](int64_t window) {
      return generate(engine, {.tokens = 4, .sampling = {}, .repetitionPenalty = 10, .penaltyWindow = window});
    };
    EXPECT_EQ(withWindow(0), (std::vector<int32_t>{5, 3, 3, 3})) << entry;
    EXPECT_EQ(withWindow(1), (std::vector<int32_t>{3, 4, 3, 4})) << entry;
    EXPECT_EQ(withWindow(2), (std::vector<int32_t>{5, 3, 4, 5})) << entry;
    EXPECT_EQ(withWindow(100), (std::vector<int32_t>{5, 3, 3, 3})) << entry;
    EXPECT_EQ(engine.calls.front(), entry);
  }
}

TEST_F(GeneratorTest, AnEndMarkMayBeATokenLikeOthers) {
  model.otherEnds = {3}; // the most probable token
  FixedLogits engine({"decode_step"}, logits);
  EXPECT_TRUE(generate(engine, {.tokens = 4}).empty());
  EXPECT_EQ(generate(engine, {.tokens = 4, .ignoresEnd = true}), (std::vector<int32_t>{3, 3, 3, 3}));
}

// A model with a `prefill` entry reads prompts there, in calls as large as the model allows; the last token of each
// prompt is read in a step.
TEST_F(GeneratorTest, PromptsAreReadAhead) {
  FixedLogits engine({"sample_step", "prefill"}, logits);
  Generator generator(engine, model);
  std::vector<int32_t> prompt(12);
  for (uint64_t number = 0; number < 4; ++number) // 44 of the 64 tokens
    ASSERT_TRUE(generator.add({number, prompt, {.tokens = 1}}).ok());
  ASSERT_TRUE(generator.step().ok());
  EXPECT_EQ(generator.pending(), 0u);
  EXPECT_EQ(engine.calls, (std::vector<std::string>{"prefill", "sample_step"}));
  EXPECT_EQ(engine.rowsOfCalls, (std::vector<size_t>{44, 4}));
}

// A recurrent model has no such entry: its state before a token exists only after the token before it has been read.
TEST_F(GeneratorTest, PromptsAreReadATokenAStepWithoutAnEntryForThem) {
  FixedLogits engine({"sample_step"}, logits);
  Generator generator(engine, model);
  ASSERT_TRUE(generator.add({0, {1, 2, 3}, {.tokens = 1}}).ok());
  ASSERT_TRUE(generator.add({1, {4}, {.tokens = 1}}).ok());
  while (generator.pending() != 0)
    ASSERT_TRUE(generator.step().ok());
  EXPECT_EQ(engine.rowsOfCalls, (std::vector<size_t>{2, 1, 1}));
}

// Rules that the device does not support are applied on the host, to the logits of `decode_step`.
TEST_F(GeneratorTest, TheHostDrawsByOtherRules) {
  FixedLogits engine({"sample_step", "decode_step"}, logits);
  auto entryOf = [&](SamplingOptions sampling) {
    engine.calls.clear();
    generate(engine, {.tokens = 1, .sampling = std::move(sampling)});
    return engine.calls.at(0);
  };
  EXPECT_EQ(entryOf({.temperature = 0.5, .topK = 2, .topP = 0.5}), "sample_step");
  EXPECT_EQ(entryOf({.minP = 0.1}), "decode_step");
  EXPECT_EQ(entryOf({.temperature = 0.5, .topP = 0.5, .order = {Sampler::TopP, Sampler::Temperature}}), "decode_step");
  // The most probable token has a probability of 0.082, and no other token has 0.95 of that.
  EXPECT_EQ(generate(engine, {.tokens = 3, .sampling = SamplingOptions{.minP = 0.95}}),
            (std::vector<int32_t>{3, 3, 3}));
}

} // namespace
