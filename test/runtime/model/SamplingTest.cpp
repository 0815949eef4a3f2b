#include "runtime/model/Sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

using namespace heddle;

namespace {

const std::vector<float> kLogits = {1.5f, -0.5f, 0.25f, 2, -3, 0.25f, 1, -1};

std::vector<double> probabilities(double temperature) {
  std::vector<double> result;
  double sum = 0;
  for (float logit : kLogits)
    sum += result.emplace_back(std::exp(logit / temperature));
  for (double &probability : result)
    probability /= sum;
  return result;
}

// Returns Pearson's statistic of draws for many sentence numbers, against the given probabilities.
double chiSquare(const SamplingOptions &options, const std::vector<double> &expected) {
  constexpr int kDraws = 40'000;
  std::vector<int> counts(kLogits.size());
  for (int i = 0; i < kDraws; ++i)
    ++counts[size_t(sample(kLogits, options, uniform(options.seed, uint64_t(i) / 40, uint64_t(i) % 40)))];
  double sum = 0;
  for (size_t token = 0; token < counts.size(); ++token) {
    double mean = expected[token] * kDraws;
    if (mean == 0)
      EXPECT_EQ(counts[token], 0) << token;
    else
      sum += (counts[token] - mean) * (counts[token] - mean) / mean;
  }
  return sum;
}

// With 7 degrees of freedom, 24.32 is exceeded once in a thousand. The seed is fixed, so the test always passes or
// always fails.
TEST(Sampling, FrequenciesFollowTheProbabilities) {
  for (double temperature : {0.5, 1.0, 2.0})
    EXPECT_LT(chiSquare({.temperature = temperature, .seed = 3}, probabilities(temperature)), 24.32) << temperature;
  // The same draws do not fit another temperature.
  EXPECT_GT(chiSquare({.temperature = 1, .seed = 3}, probabilities(1.1)), 50);
}

std::vector<double> only(std::set<size_t> tokens, double temperature) {
  std::vector<double> result = probabilities(temperature);
  double sum = 0;
  for (size_t token = 0; token < result.size(); ++token)
    sum += tokens.contains(token) ? result[token] : result[token] = 0;
  for (double &probability : result)
    probability /= sum;
  return result;
}

TEST(Sampling, TopK) {
  EXPECT_LT(chiSquare({.topK = 3, .seed = 5}, only({3, 0, 6}, 1)), 13.82); // 2 degrees of freedom
  // Tokens with equal logits are kept together.
  EXPECT_LT(chiSquare({.topK = 4, .seed = 5}, only({3, 0, 6, 2, 5}, 1)), 18.47);
  EXPECT_LT(chiSquare({.topK = 100, .seed = 5}, probabilities(1)), 24.32);
  for (double random : {0.0, 0.3, 0.999999})
    EXPECT_EQ(sample(kLogits, {.topK = 1}, random), 3);
}

TEST(Sampling, TopP) {
  // Tokens 3 and 0 have 0.406 and 0.247; the next, token 6, has 0.150.
  EXPECT_LT(chiSquare({.topP = 0.64, .seed = 5}, only({3, 0}, 1)), 10.83);
  EXPECT_LT(chiSquare({.topP = 0.67, .seed = 5}, only({3, 0, 6}, 1)), 13.82);
  for (double random : {0.0, 0.3, 0.999999})
    EXPECT_EQ(sample(kLogits, {.topP = 0.01}, random), 3);
  // Tokens 2 and 5 have 0.071 each, and the sum up to token 6 is 0.803. One of the two would be enough, but both are
  // kept.
  EXPECT_LT(chiSquare({.topP = 0.85, .seed = 5}, only({3, 0, 6, 2, 5}, 1)), 18.47);
  // top-p applies to the tokens that top-k keeps.
  EXPECT_LT(chiSquare({.topK = 3, .topP = 0.8, .seed = 5}, only({3, 0}, 1)), 10.83);
}

// The weights relative to the largest are 1, 0.607, 0.368, 0.174 (twice), 0.082, 0.050 and 0.007, for tokens 3, 0, 6, 2
// and 5, 1, 7 and 4. A temperature of 2 makes them 1, 0.779, 0.607, 0.417, 0.286, 0.223 and 0.082.
TEST(Sampling, MinP) {
  EXPECT_LT(chiSquare({.seed = 5, .minP = 0.3}, only({3, 0, 6}, 1)), 13.82);
  EXPECT_LT(chiSquare({.seed = 5, .minP = 0.17}, only({3, 0, 6, 2, 5}, 1)), 18.47);
  EXPECT_LT(chiSquare({.temperature = 2, .seed = 5, .minP = 0.3}, only({3, 0, 6, 2, 5}, 2)), 18.47);
  for (double random : {0.0, 0.3, 0.999999})
    EXPECT_EQ(sample(kLogits, {.minP = 1}, random), 3);
}

TEST(Sampling, TheOrderOfRulesIsChosen) {
  auto order = [](std::string_view names) { return *parseSamplers(names); };
  std::vector<Sampler> temperatureLast = order("top-k,top-p,min-p,temperature");
  // With the temperature first, min-p keeps five tokens. With the temperature last, it keeps three, as at temperature
  // 1.
  EXPECT_LT(chiSquare({.temperature = 2, .seed = 5, .minP = 0.3, .order = temperatureLast}, only({3, 0, 6}, 2)), 13.82);
  // Two tokens hold 0.653 at temperature 1. At 2, three hold 0.626, and the fourth is as probable as the fifth.
  EXPECT_LT(chiSquare({.temperature = 2, .topP = 0.64, .seed = 5}, only({3, 0, 6, 2, 5}, 2)), 18.47);
  EXPECT_LT(chiSquare({.temperature = 2, .topP = 0.64, .seed = 5, .order = temperatureLast}, only({3, 0}, 2)), 10.83);
  // Three tokens hold 0.803 of the total, and two hold 0.814 of the three.
  EXPECT_LT(chiSquare({.topK = 3, .topP = 0.8, .seed = 5, .order = order("top-k,top-p")}, only({3, 0}, 1)), 10.83);
  EXPECT_LT(chiSquare({.topK = 3, .topP = 0.8, .seed = 5, .order = order("top-p,top-k")}, only({3, 0, 6}, 1)), 13.82);
  // A rule that is left out does not apply.
  EXPECT_LT(chiSquare({.temperature = 2, .topK = 1, .seed = 5, .order = {}}, probabilities(1)), 24.32);
}

TEST(Sampling, NoTemperatureIsGreedy) {
  for (double random : {0.0, 0.3, 0.999999})
    EXPECT_EQ(sample(kLogits, {.temperature = 0, .topK = 4}, random), 3);
}

TEST(Sampling, SamplersHaveNames) {
  EXPECT_EQ(*parseSamplers("temperature,top-k,top-p,min-p"), SamplingOptions().order);
  for (Sampler sampler : SamplingOptions().order)
    EXPECT_EQ(*parseSamplers(toString(sampler)), std::vector<Sampler>{sampler});
  for (const char *wrong : {"", "top-k,", "top_k", "typical", "top-k,,top-p", "min-p,top-k,min-p"})
    EXPECT_FALSE(parseSamplers(wrong).ok()) << wrong;
}

TEST(Sampling, TheDeviceKnowsOneOrder) {
  using enum Sampler;
  EXPECT_TRUE((SamplingOptions{.temperature = 2, .topK = 3, .topP = 0.5}.isOfDevice()));
  EXPECT_TRUE((SamplingOptions{.temperature = 2, .topK = 3, .order = {TopK, Temperature}}.isOfDevice()));
  EXPECT_TRUE((SamplingOptions{.topP = 0.5, .order = {TopP, Temperature}}.isOfDevice()));
  EXPECT_FALSE((SamplingOptions{.minP = 0.1}.isOfDevice()));
  EXPECT_FALSE((SamplingOptions{.temperature = 2, .topP = 0.5, .order = {TopP, Temperature}}.isOfDevice()));
  EXPECT_FALSE((SamplingOptions{.topK = 3, .topP = 0.5, .order = {TopP, TopK}}.isOfDevice()));
  EXPECT_FALSE((SamplingOptions{.temperature = 2, .order = {}}.isOfDevice()));
}

TEST(Sampling, NumbersDependOnSeedSentenceAndPosition) {
  std::set<double> seen;
  for (uint64_t seed = 0; seed < 5; ++seed)
    for (uint64_t sentence = 0; sentence < 5; ++sentence)
      for (uint64_t position = 0; position < 5; ++position) {
        double number = uniform(seed, sentence, position);
        EXPECT_GE(number, 0);
        EXPECT_LT(number, 1);
        EXPECT_EQ(number, uniform(seed, sentence, position));
        seen.insert(number);
      }
  EXPECT_EQ(seen.size(), 125u);
}

TEST(Sampling, RepetitionPenalty) {
  const float logits[] = {2, -2, 0, 4};
  const int32_t tokens[] = {1, 0, 0, 2};
  EXPECT_EQ(penaliseRepetition(logits, tokens, 2), (std::vector<float>{1, -4, 0, 4})) << "a token counts once";
  EXPECT_EQ(penaliseRepetition(logits, tokens, 1), (std::vector<float>{2, -2, 0, 4}));
}

TEST(Sampling, LogProbability) {
  std::vector<double> expected = probabilities(1);
  for (size_t token = 0; token < kLogits.size(); ++token)
    EXPECT_NEAR(logProbability(kLogits, int32_t(token)), std::log(expected[token]), 1e-12);
}

} // namespace
