#include "runtime/model/BeamSearch.h"
#include "test/runtime/model/ReferenceBeam.h"

#include <gtest/gtest.h>

#include <random>

using namespace heddle;
using namespace heddle::test;

namespace {

constexpr size_t kTokens = 7;

// A model whose distribution for each history is drawn from the history's tokens.
LanguageModel randomModel(uint32_t seed, float spread) {
  return [=](const std::vector<int32_t> &tokens) {
    std::vector<uint32_t> words(tokens.begin(), tokens.end());
    words.push_back(seed);
    std::seed_seq sequence(words.begin(), words.end());
    std::mt19937 random(sequence);
    std::vector<float> logits(kTokens);
    double sum = 0;
    for (float &logit : logits)
      sum += std::exp(double(logit = spread * float(random()) * 0x1p-32f));
    for (float &logit : logits)
      logit -= float(std::log(sum));
    return logits;
  };
}

// Computes what the device does in a step.
std::vector<Candidate> candidates(const LanguageModel &model, std::span<const BeamSearch::Open> open, size_t first,
                                  size_t count, size_t most) {
  std::vector<Candidate> all;
  for (size_t i = first; i < first + count; ++i) {
    std::vector<float> next = model(open[i].tokens);
    for (size_t token = 0; token < kTokens; ++token)
      all.push_back({open[i].logProbability + next[token], int32_t(i), int32_t(token)});
  }
  std::ranges::stable_sort(all, std::ranges::greater(), &Candidate::logProbability);
  all.resize(std::min(all.size(), most));
  return all;
}

std::vector<Hypothesis> search(const LanguageModel &model, const SearchOptions &options,
                               std::vector<int32_t> prefix = {}) {
  BeamSearch search(options, prefix);
  while (!search.done()) {
    EXPECT_LE(int64_t(search.open().size()), BeamSearch::mostHypotheses(options.width));
    if (auto token = search.forced()) {
      search.force(model(search.open()[0].tokens)[size_t(*token)]);
      continue;
    }
    std::vector<Candidate> greedy;
    if (search.greedy())
      greedy = candidates(model, search.open(), *search.greedy(), 1, 2);
    search.advance(candidates(model, search.open(), 0, search.beamSize(), size_t(2 * options.width)), greedy);
  }
  return search.best();
}

void expectSame(const std::vector<Hypothesis> &actual, const std::vector<Hypothesis> &expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    EXPECT_EQ(actual[i].tokens, expected[i].tokens) << i;
    EXPECT_NEAR(actual[i].score, expected[i].score, 1e-5) << i;
    EXPECT_EQ(actual[i].ended, expected[i].ended) << i;
  }
}

TEST(LengthPenalty, OfWuEtAl) {
  EXPECT_DOUBLE_EQ(lengthPenalty(1, 0.6), 1);
  EXPECT_DOUBLE_EQ(lengthPenalty(7, 1), 2);
  EXPECT_NEAR(lengthPenalty(25, 0.6), 2.626527804403767, 1e-12);
  EXPECT_DOUBLE_EQ(lengthPenalty(25, 0), 1);
}

TEST(BeamSearch, EqualsTheReference) {
  size_t greedyWins = 0;
  for (uint32_t seed = 0; seed < 60; ++seed)
    for (int64_t width : {1, 2, 3, 4})
      for (double alpha : {0.0, 0.6, 2.0}) {
        SCOPED_TRACE(testing::Message() << "seed " << seed << " width " << width << " alpha " << alpha);
        LanguageModel model = randomModel(seed, 1 + float(seed % 5));
        auto expected = referenceBeam(model, size_t(width), alpha, 9);
        auto actual = search(model, {width, alpha, 9});
        expectSame(actual, expected);
        auto greedy = referenceGreedy(model, alpha, 9);
        if (!greedy)
          continue;
        if (width == 1)
          expectSame(actual, {*greedy});
        ASSERT_TRUE(actual.front().ended);
        EXPECT_GE(actual.front().score, greedy->score - 1e-6);
        greedyWins += width > 1 && actual.front().tokens == greedy->tokens;
      }
  EXPECT_GT(greedyWins, 0u);
}

// Chooses among all continuations of all sequences at once, as transformers does.
std::vector<Hypothesis> searchAsTransformers(const LanguageModel &model, size_t width, double alpha, size_t maximum,
                                             bool forcesEnd) {
  std::vector<Hypothesis> running = {{}}, finished;
  for (size_t length = 1; length <= maximum && finished.size() < width; ++length) {
    std::vector<Hypothesis> all, next;
    for (const Hypothesis &open : running) {
      std::vector<float> logits = model(open.tokens);
      for (size_t token = 0; token < kTokens; ++token) {
        if (forcesEnd && length == maximum && token != size_t(kEndId))
          continue;
        double added = forcesEnd && length == maximum ? 0 : double(logits[token]);
        all.push_back(open);
        all.back().logProbability = double(float(open.logProbability) + float(added));
        all.back().tokens.push_back(int32_t(token));
      }
    }
    std::ranges::stable_sort(all, std::ranges::greater(), &Hypothesis::logProbability);
    for (size_t i = 0; i < all.size() && next.size() < width; ++i) {
      bool hasEnd = all[i].tokens.back() == kEndId;
      if (!hasEnd && length < maximum) {
        next.push_back(all[i]);
      } else if (i < width) {
        Hypothesis whole = all[i];
        whole.score = whole.logProbability / std::pow(double(length), alpha);
        whole.ended = hasEnd;
        if (hasEnd)
          whole.tokens.pop_back();
        finished.push_back(std::move(whole));
      }
    }
    running = std::move(next);
  }
  std::ranges::stable_sort(finished, std::ranges::greater(), &Hypothesis::score);
  finished.resize(std::min(finished.size(), width));
  return finished;
}

TEST(BeamSearch, SearchesAsTransformers) {
  for (uint32_t seed = 0; seed < 60; ++seed)
    for (int64_t width : {1, 2, 4})
      for (double alpha : {0.0, 0.6, 2.0})
        for (bool forcesEnd : {false, true}) {
          SCOPED_TRACE(testing::Message() << "seed " << seed << " width " << width << " alpha " << alpha);
          LanguageModel model = randomModel(seed, 1 + float(seed % 5));
          SearchOptions options{.width = width, .lengthPenalty = alpha, .maximumLength = 9};
          options.rule = BeamRule::HuggingFace;
          options.forcesEnd = forcesEnd;
          expectSame(search(model, options), searchAsTransformers(model, size_t(width), alpha, 9, forcesEnd));
        }
}

// If the beam is as wide as there are translations, nothing is pruned: the search finds the best of all.
TEST(BeamSearch, WideBeamFindsTheBestOfAll) {
  constexpr size_t kLongest = 4;
  for (uint32_t seed = 0; seed < 10; ++seed) {
    LanguageModel model = randomModel(seed, 3);
    Hypothesis best;
    best.score = -1e9;
    std::function<void(std::vector<int32_t>, double)> visit = [&](std::vector<int32_t> tokens, double sum) {
      std::vector<float> next = model(tokens);
      double ended = referenceScore(sum + next[kEndId], tokens.size() + 1, 0.6);
      if (ended > best.score)
        best = {tokens, sum + next[kEndId], ended, true};
      if (tokens.size() + 1 == kLongest)
        return;
      for (int32_t token = 0; token < int32_t(kTokens); ++token)
        if (token != kEndId) {
          tokens.push_back(token);
          visit(tokens, sum + next[size_t(token)]);
          tokens.pop_back();
        }
    };
    visit({}, 0);
    expectSame({search(model, {2500, 0.6, kLongest}).front()}, {best});
  }
}

TEST(BeamSearch, PrefixIsForcedAndCounts) {
  LanguageModel model = randomModel(3, 4);
  std::vector<int32_t> prefix = {4, 6};
  // Runs the reference on a model that starts after the prefix.
  LanguageModel rest = [&](std::vector<int32_t> tokens) {
    tokens.insert(tokens.begin(), prefix.begin(), prefix.end());
    return model(tokens);
  };
  float before = model({})[4] + model({4})[6];
  auto actual = search(model, {3, 0, 9}, prefix);
  auto expected = referenceBeam(rest, 3, 0, 7);
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    expected[i].tokens.insert(expected[i].tokens.begin(), prefix.begin(), prefix.end());
    EXPECT_EQ(actual[i].tokens, expected[i].tokens);
    EXPECT_NEAR(actual[i].logProbability, before + expected[i].logProbability, 1e-5);
  }
}

TEST(BeamSearch, LongestLengthCuts) {
  LanguageModel never = [](const std::vector<int32_t> &) { return std::vector<float>{-3, -3, -30, -0.2f, -3, -3, -3}; };
  std::vector<Hypothesis> best = search(never, {2, 0.6, 5});
  ASSERT_EQ(best.size(), 2u);
  EXPECT_FALSE(best[1].ended);
  EXPECT_EQ(search(never, {1, 0.6, 5}).front().tokens, std::vector<int32_t>(5, 3));
}

} // namespace
