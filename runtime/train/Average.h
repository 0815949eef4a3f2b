// Averages checkpoints' weights: section 6.1 of "Attention Is All You Need" averages the last 5 (base) or 20 (big).
#pragma once

#include "runtime/core/Status.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace heddle {

// Writes the checkpoint `output`, for inference only: without optimizer state, training cannot resume from it.
// `weights` has a factor for each checkpoint; the factors are normalized to a sum of 1. Sums are computed in double
// precision. Fails if the checkpoints are damaged or of different models.
Status averageCheckpoints(std::span<const std::filesystem::path> checkpoints, std::span<const double> weights,
                          const std::filesystem::path &output);

// Writes `output` from the average over all steps that training kept with the weights of a checkpoint: step i of n has
// the share (1 - d) d^(n - i) / (1 - d^n), where d is the model's `ema_decay`. Skipped steps do not count. Fails if the
// model was compiled without an average.
Status extractAverage(const std::filesystem::path &checkpoint, const std::filesystem::path &output);

// Factors of an exponential moving average: decay^0 for the newest checkpoint, which is the last, decay^1 for the one
// before it, ...
std::vector<double> decayingWeights(size_t count, double decay);

} // namespace heddle
