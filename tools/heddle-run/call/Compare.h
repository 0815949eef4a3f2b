// Compares what was computed with what was expected.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/core/Tensor.h"

#include <cstdint>
#include <string>

namespace heddle::run {

// A value is right where |actual - expected| <= tolerance * (1 + |expected|); integers must be equal, a NaN is right
// where a NaN is expected, an infinity where the same infinity is.
struct Comparison {
  uint64_t values = 0, wrong = 0;
  double largestAbsolute = 0, largestRelative = 0; // relative to |expected|, where that is not zero
  uint64_t firstWrong = 0;                         // its index in row-major order
  double firstActual = 0, firstExpected = 0;

  bool matches() const { return wrong == 0; }
  std::string describe() const;
};

// Fails where types or shapes differ.
Result<Comparison> compare(const TensorView &actual, const TensorView &expected, double tolerance);

} // namespace heddle::run
