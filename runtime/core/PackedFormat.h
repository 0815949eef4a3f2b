// The format of a matrix of packed numbers, as heddle.dequantize unpacks it.
#pragma once

#include "runtime/core/Narrow.h"

#include <cstdint>

namespace heddle {

// A value is its number times the scale of its group, plus the group's offset.
struct PackedFormat {
  int64_t bits = 8;     // of a number's lower part: 2, 4 or 8
  int64_t highBits = 0; // of its upper part: 0, 1 or 2
  bool isUnsigned = false, hasOffsets = false;
  int64_t group = 0;       // the neighbours along the contracted dimension that share a scale; 0: all of them
  int64_t scaleBits = 0;   // of integer scales and offsets, which have a factor: 4 (unsigned) or 8; 0: they are floats
  int64_t factorGroup = 0; // with integer scales: the numbers whose scales share a factor
  NarrowType narrow = NarrowType::None; // of factors, or of scales without a factor
  const int8_t *table = nullptr; // the 16 values that unsigned numbers of 4 bits select; null: numbers are values

  bool operator==(const PackedFormat &) const = default;
};

} // namespace heddle
