// Sampling: each token is drawn from the model's distribution, or from the likely part of it.
#pragma once

#include "runtime/core/Status.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace heddle {

// A sampling rule. Each rule works on the tokens and probabilities that the previous rules leave.
enum class Sampler { Temperature, TopK, TopP, MinP };

struct SamplingOptions {
  double temperature = 1; // divides the logits; 0: choose the most probable token
  int64_t topK = 0;       // keeps the k most probable tokens, and those as probable as the last of them; 0: all
  double topP = 1;        // keeps the smallest set of most probable tokens with at least this total probability
  uint64_t seed = 1;
  double minP = 0; // keeps the tokens with at least this fraction of the most probable token's probability
  // Rules that are left out are not applied. The default is the order of Hugging Face's library.
  std::vector<Sampler> order = {Sampler::Temperature, Sampler::TopK, Sampler::TopP, Sampler::MinP};

  // Returns true if the rule changes anything when applied.
  bool isSet(Sampler sampler) const;
  // Returns true if `heddle.draw` draws with the same probabilities: it applies temperature, top-k and top-p in this
  // order.
  bool isOfDevice() const;
};

// Parses rule names separated by commas: "top-k,top-p,min-p,temperature". Fails if a name is unknown or repeated.
Result<std::vector<Sampler>> parseSamplers(std::string_view names);
std::string_view toString(Sampler sampler);

// The key of a token's random numbers. It depends only on the seed, the sentence's number and the token's position, so
// that the answer to a line does not depend on other lines.
uint64_t randomKey(uint64_t seed, uint64_t sentence, uint64_t position);

// A uniform random number in [0, 1) for this key.
double uniform(uint64_t seed, uint64_t sentence, uint64_t position);

// A token that the rules keep, and its probability after them.
struct Chance {
  int32_t token;
  double probability;
};

// The distribution that sample() draws from; the probabilities sum to 1.
std::vector<Chance> chances(std::span<const float> logits, const SamplingOptions &options);

// Draws a token with a random number in [0, 1).
int32_t sample(std::span<const float> logits, const SamplingOptions &options, double random);

// The last `window` tokens, which a penalty looks at; 0: all.
std::span<const int32_t> lastTokens(std::span<const int32_t> tokens, int64_t window);

// The logits, where those of the given tokens are divided by `penalty` if positive and multiplied by it if negative.
std::vector<float> penaliseRepetition(std::span<const float> logits, std::span<const int32_t> tokens, double penalty);

// The `count` most probable tokens, the most probable first; equal logits are ordered by token.
std::vector<int32_t> mostProbable(std::span<const float> logits, size_t count);

// Fails if a logit is NaN, with the error that logitsAreNoNumbers() makes.
Status checkLogits(std::span<const float> logits);
Error logitsAreNoNumbers();

// log softmax(logits)[token].
double logProbability(std::span<const float> logits, int32_t token);

} // namespace heddle
