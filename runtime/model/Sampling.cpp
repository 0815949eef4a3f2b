#include "runtime/model/Sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <ranges>
#include <utility>

namespace heddle {
namespace {

// The finalizer of SplitMix64.
uint64_t mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
  value = (value ^ value >> 27) * 0x94d049bb133111eb;
  return value ^ value >> 31;
}

constexpr std::pair<Sampler, std::string_view> kNames[] = {{Sampler::Temperature, "temperature"},
                                                           {Sampler::TopK, "top-k"},
                                                           {Sampler::TopP, "top-p"},
                                                           {Sampler::MinP, "min-p"}};

// The tokens that the rules keep. They are sorted, most probable first, if a rule needs the order.
class Candidates {
public:
  Candidates(std::span<const float> logits, const SamplingOptions &options)
      : logits(logits), largest(*std::ranges::max_element(logits)) {
    auto first = std::ranges::find_if(
        options.order, [&](Sampler rule) { return rule != Sampler::Temperature && options.isSet(rule); });
    size_t count = logits.size();
    if (first != options.order.end() && *first == Sampler::TopK)
      count = std::min(count, size_t(options.topK)); // sorting the top k is enough
    if (first == options.order.end()) {
      tokens.resize(count);
      std::iota(tokens.begin(), tokens.end(), 0);
      return;
    }
    tokens = mostProbable(logits, count);
    float last = logits[size_t(tokens.back())];
    for (auto token = size_t(tokens.back()) + 1; token < logits.size(); ++token)
      if (logits[token] == last)
        tokens.push_back(int32_t(token));
  }

  void apply(Sampler sampler, const SamplingOptions &options) {
    switch (sampler) {
    case Sampler::Temperature:
      temperature = options.temperature;
      return;
    case Sampler::TopK:
      return keep(size_t(options.topK));
    case Sampler::TopP: {
      std::vector<double> sums = runningSums();
      return keep(size_t(std::ranges::lower_bound(sums, options.topP * sums.back()) - sums.begin()) + 1);
    }
    case Sampler::MinP: {
      auto behind = std::ranges::find_if(tokens, [&](int32_t token) { return weightOf(token) < options.minP; });
      return keep(size_t(behind - tokens.begin()));
    }
    }
  }

  int32_t draw(double random) const {
    std::vector<double> sums = runningSums();
    size_t drawn = size_t(std::ranges::upper_bound(sums, random * sums.back()) - sums.begin());
    return tokens[std::min(drawn, sums.size() - 1)];
  }

  std::vector<Chance> chances() const {
    std::vector<Chance> left;
    double sum = runningSums().back();
    for (int32_t token : tokens)
      left.push_back({token, weightOf(token) / sum});
    return left;
  }

private:
  // The token's probability relative to the most probable token's.
  double weightOf(int32_t token) const { return std::exp((double(logits[size_t(token)]) - largest) / temperature); }

  std::vector<double> runningSums() const {
    std::vector<double> sums;
    double sum = 0;
    for (int32_t token : tokens)
      sums.push_back(sum += weightOf(token));
    return sums;
  }

  // Tokens with equal logits are kept or dropped together, so that the order of tokens does not matter.
  void keep(size_t count) {
    count = std::clamp(count, size_t(1), tokens.size());
    while (count < tokens.size() && logits[size_t(tokens[count])] == logits[size_t(tokens[count - 1])])
      ++count;
    tokens.resize(count);
  }

  std::span<const float> logits;
  double largest, temperature = 1;
  std::vector<int32_t> tokens;
};

} // namespace

bool SamplingOptions::isSet(Sampler sampler) const {
  switch (sampler) {
  case Sampler::Temperature:
    return temperature != 1;
  case Sampler::TopK:
    return topK > 0;
  case Sampler::TopP:
    return topP < 1;
  case Sampler::MinP:
    return minP > 0;
  }
  return false;
}

bool SamplingOptions::isOfDevice() const {
  // Top-k keeps the same tokens at any temperature, so these two rules commute.
  std::vector<Sampler> known, active;
  for (Sampler sampler : {Sampler::Temperature, Sampler::TopK, Sampler::TopP})
    if (isSet(sampler))
      known.push_back(sampler);
  for (Sampler sampler : order)
    if (isSet(sampler))
      active.push_back(sampler);
  if (active.size() > 1 && active[0] == Sampler::TopK && active[1] == Sampler::Temperature)
    std::swap(active[0], active[1]);
  return active == known;
}

std::string_view toString(Sampler sampler) {
  return std::ranges::find(kNames, sampler, [](const auto &known) { return known.first; })->second;
}

Result<std::vector<Sampler>> parseSamplers(std::string_view names) {
  std::vector<Sampler> order;
  if (names.empty())
    return makeError(ErrorKind::InvalidArgument, "no sampler is named; there are temperature, top-k, top-p and min-p.");
  for (auto part : std::views::split(names, ',')) {
    std::string_view name(part.begin(), part.end());
    auto known = std::ranges::find(kNames, name, [](const auto &each) { return each.second; });
    if (known == std::end(kNames))
      return makeError(ErrorKind::InvalidArgument, "'", name,
                       "' is no sampler; there are temperature, top-k, top-p and min-p.");
    if (std::ranges::find(order, known->first) != order.end())
      return makeError(ErrorKind::InvalidArgument, "the sampler '", name, "' is there twice.");
    order.push_back(known->first);
  }
  return order;
}

uint64_t randomKey(uint64_t seed, uint64_t sentence, uint64_t position) {
  return mix(mix(mix(seed) ^ sentence) ^ position);
}

double uniform(uint64_t seed, uint64_t sentence, uint64_t position) {
  return double(randomKey(seed, sentence, position) >> 11) * 0x1p-53;
}

std::span<const int32_t> lastTokens(std::span<const int32_t> tokens, int64_t window) {
  return tokens.last(window > 0 ? std::min(size_t(window), tokens.size()) : tokens.size());
}

std::vector<float> penaliseRepetition(std::span<const float> logits, std::span<const int32_t> tokens, double penalty) {
  std::vector<float> result(logits.begin(), logits.end());
  for (int32_t token : tokens) {
    float logit = logits[size_t(token)]; // from `logits`, so that a repeated token is penalized once
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

static int32_t greatest(std::span<const float> logits) {
  return int32_t(std::ranges::max_element(logits) - logits.begin());
}

static Candidates leave(std::span<const float> logits, const SamplingOptions &options) {
  Candidates left(logits, options);
  for (Sampler sampler : options.order)
    if (options.isSet(sampler))
      left.apply(sampler, options);
  return left;
}

std::vector<Chance> chances(std::span<const float> logits, const SamplingOptions &options) {
  if (options.temperature == 0)
    return {{greatest(logits), 1}};
  return leave(logits, options).chances();
}

int32_t sample(std::span<const float> logits, const SamplingOptions &options, double random) {
  return options.temperature == 0 ? greatest(logits) : leave(logits, options).draw(random);
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
