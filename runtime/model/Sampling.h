// Text by chance: each token is drawn from the model's distribution, or from the likely part of it.
#pragma once

#include "runtime/core/Status.h"

#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

struct SamplingOptions {
  double temperature = 1; // divides the logits; above 0
  int64_t topK = 0; // draw from the k most probable tokens, and those as probable as the last of them; 0: from all
  double topP = 1;  // of these, from the fewest most probable ones that hold this much of their probability
  uint64_t seed = 1;
};

// What a token's random numbers are made of: the seed, the sentence's number and the token's position alone, so that
// the answer to a line does not depend on the lines around it.
uint64_t randomKey(uint64_t seed, uint64_t sentence, uint64_t position);

// Uniform in [0, 1), of the same.
double uniform(uint64_t seed, uint64_t sentence, uint64_t position);

// The token that a number in [0, 1) draws, of those that `heddle.draw` draws from on a device.
int32_t sample(std::span<const float> logits, const SamplingOptions &options, double random);

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
