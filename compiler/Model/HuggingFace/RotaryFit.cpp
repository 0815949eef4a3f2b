#include "compiler/Model/HuggingFace/RotaryFit.h"

#include <algorithm>
#include <cmath>
#include <numbers>

using namespace mlir::heddle;

/// Returns the divisor that the rule gives for a frequency.
static double divisorOf(const RotaryFit &rule, double frequency) {
  double turns = double(rule.length) * frequency / (2 * std::numbers::pi);
  double kept = std::clamp((turns - rule.low) / (rule.high - rule.low), 0.0, 1.0);
  return 1 / (kept + (1 - kept) / rule.factor);
}

std::optional<RotaryFit> mlir::heddle::fitRotaryDivisors(std::span<const float> divisors, double base,
                                                         int64_t headWidth) {
  constexpr double kBound = 1e-4; // the divisors were computed in f32
  RotaryFit rule;
  // The slowest frequency is divided by the full factor, which is an integer or a simple fraction.
  rule.factor = divisors.empty() ? 1 : divisors.back();
  if (double rounded = std::round(rule.factor * 64) / 64; std::abs(rounded - rule.factor) < kBound)
    rule.factor = rounded;
  if (!(rule.factor >= 1) || !std::isfinite(rule.factor))
    return std::nullopt;
  // The published length comes first, because divisors that are all 1 or the factor may fit several.
  auto fits = [&](int64_t length) {
    rule.length = length;
    for (size_t i = 0; i < divisors.size(); ++i) {
      double divisor = divisorOf(rule, std::pow(base, -2.0 * double(i) / double(headWidth)));
      if (!(std::abs(double(divisors[i]) / divisor - 1) < kBound))
        return false;
    }
    return true;
  };
  if (fits(rule.length))
    return rule;
  for (int64_t length = 16; length <= 1 << 20; length *= 2)
    if (fits(length))
      return rule;
  return std::nullopt;
}
