// Numbers of 16 bits, widened: every one of them is an f32.
#pragma once

#include <bit>
#include <cstdint>

namespace heddle {

inline float widenBF16(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

inline float widenF16(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16, exponent = (bits >> 10) & 31, fraction = bits & 1023;
  // The smallest numbers, whose exponent is 0, are multiples of 2^-24, which f32 has as normal numbers.
  if (exponent == 0)
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(float(fraction) * 0x1p-24f));
  return std::bit_cast<float>(sign | (exponent == 31 ? 255u : exponent + 112) << 23 | fraction << 13);
}

} // namespace heddle
