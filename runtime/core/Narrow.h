// Conversions between f32 and 16-bit floats. Widening is exact.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace heddle {

inline float widenBF16(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

// Rounds to nearest, ties to even. NaN stays NaN.
inline uint16_t narrowBF16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000)
    return uint16_t(bits >> 16 | 0x40);
  return uint16_t((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

inline float widenF16(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16, exponent = (bits >> 10) & 31, fraction = bits & 1023;
  // f16 denormals are multiples of 2^-24, which are normal numbers in f32.
  if (exponent == 0)
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(float(fraction) * 0x1p-24f));
  return std::bit_cast<float>(sign | (exponent == 31 ? 255u : exponent + 112) << 23 | fraction << 13);
}

// Rounds to nearest, ties to even. Numbers from 65520 on become infinite.
inline uint16_t narrowF16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  auto sign = uint16_t(bits >> 16 & 0x8000);
  bits &= 0x7FFFFFFF;
  if (bits > 0x7F800000)
    return sign | 0x7E00;
  if (bits >= 0x477FF000) // 65520, halfway between 65504, the largest f16, and 2^16
    return sign | 0x7C00;
  if (bits < 0x38800000) { // below 2^-14: adding 0.5 rounds to a multiple of 2^-24, the unit of f16 denormals
    float shifted = std::bit_cast<float>(bits) + 0.5f;
    return sign | uint16_t(std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(0.5f));
  }
  uint32_t rounded = bits + 0xFFF + (bits >> 13 & 1);
  return sign | uint16_t((rounded - (112u << 23)) >> 13);
}

enum class NarrowType : uint8_t { None, BF16, F16 };

// Widens into.size() numbers of the type.
inline void widenAll(NarrowType type, std::span<const std::byte> narrow, std::span<float> into) {
  for (size_t i = 0; i < into.size(); ++i) {
    uint16_t bits;
    std::memcpy(&bits, narrow.data() + i * sizeof bits, sizeof bits);
    into[i] = type == NarrowType::F16 ? widenF16(bits) : widenBF16(bits);
  }
}

inline std::vector<std::byte> narrowAll(NarrowType type, std::span<const float> values) {
  std::vector<std::byte> narrow(values.size() * sizeof(uint16_t));
  for (size_t i = 0; i < values.size(); ++i) {
    uint16_t bits = type == NarrowType::F16 ? narrowF16(values[i]) : narrowBF16(values[i]);
    std::memcpy(narrow.data() + i * sizeof bits, &bits, sizeof bits);
  }
  return narrow;
}

} // namespace heddle
