// The mean of checkpoints' weights: section 6.1 of "Attention Is All You Need" averages the last 5 (base) or 20 (big).
#pragma once

#include "runtime/core/Status.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace heddle {

// Writes `output`, a checkpoint to translate with; it has no optimizer state, so training cannot resume from it.
// `weights` has a factor for each checkpoint; they are scaled to a sum of one. Sums are made in double precision. Fails
// where the checkpoints are not of one model, or are damaged.
Status averageCheckpoints(std::span<const std::filesystem::path> checkpoints, std::span<const double> weights,
                          const std::filesystem::path &output);

// Writes `output` from the average over all steps that training kept beside the weights, as it was at a checkpoint:
// step i of n has the share (1 - d) d^(n - i) / (1 - d^n), d being the model's `ema_decay`. Skipped steps are none.
// Fails where the model was compiled without an average.
Status extractAverage(const std::filesystem::path &checkpoint, const std::filesystem::path &output);

// decay^0 for the newest, which is the last, decay^1 for the one before it, ...: an exponential moving average.
std::vector<double> decayingWeights(size_t count, double decay);

} // namespace heddle
