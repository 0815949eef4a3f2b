// Recovers LLaMA 3's rule for rotary frequencies from the divisors that it gave.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace mlir::heddle {

/// The parameters of the rule, as in "rope_scaling" of a config.json. A factor of 1 changes nothing.
struct RotaryFit {
  double factor = 1, low = 1, high = 4;
  int64_t length = 8192; // of texts before the scaling
};

/// Returns the rule by which the frequencies base^(-2i / headWidth) are divided by `divisors`, headWidth / 2 of them.
/// It tries rules like those of the published models: `low` is 1, `high` is 4, and `length` is a power of two. Returns
/// nothing if none of these fits.
std::optional<RotaryFit> fitRotaryDivisors(std::span<const float> divisors, double base, int64_t headWidth);

} // namespace mlir::heddle
