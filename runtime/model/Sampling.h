// Text by chance: each token is drawn from the model's distribution, or from the likely part of it.
#pragma once

#include "runtime/core/Status.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace heddle {

// A rule of sampling. Each works on the tokens and on the probabilities that the rules before it leave.
enum class Sampler { Temperature, TopK, TopP, MinP };

struct SamplingOptions {
  double temperature = 1; // divides the logits; 0: the most probable token is chosen
  int64_t topK = 0;       // leaves the k most probable tokens, and those as probable as the last of them; 0: all
  double topP = 1;        // leaves the fewest most probable tokens that hold this much of the probability
  uint64_t seed = 1;
  double minP = 0; // leaves the tokens that have at least this much of the most probable token's probability
  // Rules that are left out are not applied. The default is the order of Hugging Face's library.
  std::vector<Sampler> order = {Sampler::Temperature, Sampler::TopK, Sampler::TopP, Sampler::MinP};

  // Whether the rule, where it is applied, changes anything.
  bool isSet(Sampler sampler) const;
  // Whether `heddle.draw`, which knows temperature, top-k and top-p in this order, draws by the same probabilities.
  bool isOfDevice() const;
};

// Reads names of rules with commas between them: "top-k,top-p,min-p,temperature". Fails at a name that is unknown or is
// there twice.
Result<std::vector<Sampler>> parseSamplers(std::string_view names);
std::string_view toString(Sampler sampler);

// What a token's random numbers are made of: the seed, the sentence's number and the token's position alone, so that
// the answer to a line does not depend on the lines around it.
uint64_t randomKey(uint64_t seed, uint64_t sentence, uint64_t position);

// Uniform in [0, 1), of the same.
double uniform(uint64_t seed, uint64_t sentence, uint64_t position);

// A token that the rules leave, and how probable it is then.
struct Chance {
  int32_t token;
  double probability;
};

// What sample() draws from; the probabilities sum to 1.
std::vector<Chance> chances(std::span<const float> logits, const SamplingOptions &options);

// The token that a number in [0, 1) draws.
int32_t sample(std::span<const float> logits, const SamplingOptions &options, double random);

// The last `window` of the tokens, which a penalty looks at; 0: all.
std::span<const int32_t> lastTokens(std::span<const int32_t> tokens, int64_t window);

// The logits with those of the given tokens divided by `penalty`, or multiplied by it where they are negative.
std::vector<float> penaliseRepetition(std::span<const float> logits, std::span<const int32_t> tokens, double penalty);

// The `count` most probable tokens, the most probable first; equal logits are ordered by token.
std::vector<int32_t> mostProbable(std::span<const float> logits, size_t count);

// Fails where one of the logits is NaN; the second says so.
Status checkLogits(std::span<const float> logits);
Error logitsAreNoNumbers();

// log softmax(logits)[token].
double logProbability(std::span<const float> logits, int32_t token);

} // namespace heddle
