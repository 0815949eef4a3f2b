// How a matrix of packed numbers is kept: as heddle.dequantize unpacks it.
#pragma once

#include <cstdint>

namespace heddle {

// A number times the scale of its group, plus the group's offset.
struct PackedFormat {
  int64_t bits = 8;     // of a number's lower part: 2, 4 or 8
  int64_t highBits = 0; // of its upper part: 0, 1 or 2
  bool isUnsigned = false, hasOffsets = false;
  int64_t group = 0;     // neighbours along the contracted dimension that share a scale; 0: all of them
  int64_t scaleBits = 0; // of scales and offsets that are whole numbers times a factor: 4 (unsigned) or 8; 0: none are
  int64_t factorGroup = 0; // numbers whose scales share a factor, where scales have bits
  bool isHalf = false;     // factors, or scales without one, are in f16

  bool operator==(const PackedFormat &) const = default;
};

} // namespace heddle
