#include "runtime/model/Sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace heddle {
namespace {

// The finaliser of SplitMix64.
uint64_t mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
  value = (value ^ value >> 27) * 0x94d049bb133111eb;
  return value ^ value >> 31;
}

} // namespace

uint64_t randomKey(uint64_t seed, uint64_t sentence, uint64_t position) {
  return mix(mix(mix(seed) ^ sentence) ^ position);
}

double uniform(uint64_t seed, uint64_t sentence, uint64_t position) {
  return double(randomKey(seed, sentence, position) >> 11) * 0x1p-53;
}

std::vector<float> penaliseRepetition(std::span<const float> logits, std::span<const int32_t> tokens, double penalty) {
  std::vector<float> result(logits.begin(), logits.end());
  for (int32_t token : tokens) {
    float logit = logits[size_t(token)]; // a token counts once, however often it is there
    result[size_t(token)] = float(logit > 0 ? double(logit) / penalty : double(logit) * penalty);
  }
  return result;
}

std::vector<int32_t> mostProbable(std::span<const float> logits, size_t count) {
  std::vector<int32_t> tokens(logits.size());
  std::iota(tokens.begin(), tokens.end(), 0);
  auto isMoreProbable = [&](int32_t a, int32_t b) {
    float x = logits[size_t(a)], y = logits[size_t(b)];
    return x > y || (x == y && a < b);
  };
  count = std::min(count, tokens.size());
  std::partial_sort(tokens.begin(), tokens.begin() + ptrdiff_t(count), tokens.end(), isMoreProbable);
  tokens.resize(count);
  return tokens;
}

int32_t sample(std::span<const float> logits, const SamplingOptions &options, double random) {
  std::vector<int32_t> tokens;
  size_t count = options.topK > 0 ? std::min(logits.size(), size_t(options.topK)) : logits.size();
  auto logitOf = [&](int32_t token) { return double(logits[size_t(token)]); };
  if (count < logits.size() || options.topP < 1) {
    tokens = mostProbable(logits, count);
    // Equal logits are in together or out together, so that the order of tokens does not matter.
    float last = logits[size_t(tokens.back())];
    for (auto token = size_t(tokens.back()) + 1; token < logits.size(); ++token)
      if (logits[token] == last)
        tokens.push_back(int32_t(token));
  } else {
    tokens.resize(count);
    std::iota(tokens.begin(), tokens.end(), 0);
  }
  double largest = *std::max_element(logits.begin(), logits.end());
  std::vector<double> sums; // running
  double sum = 0;
  for (int32_t token : tokens)
    sums.push_back(sum += std::exp((logitOf(token) - largest) / options.temperature));
  if (options.topP < 1) {
    count = std::min(sums.size(), size_t(std::ranges::lower_bound(sums, options.topP * sum) - sums.begin()) + 1);
    while (count < sums.size() && logitOf(tokens[count]) == logitOf(tokens[count - 1]))
      ++count;
    sums.resize(count);
    sum = sums.back();
  }
  size_t drawn = size_t(std::upper_bound(sums.begin(), sums.end(), random * sum) - sums.begin());
  return tokens[std::min(drawn, sums.size() - 1)];
}

Status checkLogits(std::span<const float> logits) {
  bool areNumbers = std::ranges::none_of(logits, [](float logit) { return std::isnan(logit); });
  return areNumbers ? Status(Success()) : Status(logitsAreNoNumbers());
}

Error logitsAreNoNumbers() {
  return makeError(ErrorKind::Malformed,
                   "the model computes logits that are not numbers; was its training stopped by a "
                   "loss that was not a number?");
}

double logProbability(std::span<const float> logits, int32_t token) {
  double largest = *std::max_element(logits.begin(), logits.end()), sum = 0;
  for (float logit : logits)
    sum += std::exp(double(logit) - largest);
  return double(logits[size_t(token)]) - largest - std::log(sum);
}

} // namespace heddle
