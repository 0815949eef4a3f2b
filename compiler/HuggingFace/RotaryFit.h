// LLaMA 3's rule for rotary frequencies, found again in what it made of them.
#ifndef HEDDLE_COMPILER_HUGGINGFACE_ROTARYFIT_H
#define HEDDLE_COMPILER_HUGGINGFACE_ROTARYFIT_H

#include <cstdint>
#include <optional>
#include <span>

namespace mlir::heddle {

/// The rule's numbers, as "rope_scaling" of a config.json has them. A factor of 1 changes nothing.
struct RotaryFit {
  double factor = 1, low = 1, high = 4;
  int64_t length = 8192; // of texts before
};

/// The rule by which the frequencies base^(-2i / headWidth) are divided by `divisors`, headWidth / 2 of them. Nothing
/// where no rule of the published models' kind gives them: turns from 1 to 4 within a length that is a power of two.
std::optional<RotaryFit> fitRotaryDivisors(std::span<const float> divisors, double base, int64_t headWidth);

} // namespace mlir::heddle

#endif
