// The 16-bit formats and tf32, in integer arithmetic: round to nearest, ties to even, unless a name says otherwise.
// Also the additions of tensor cores.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace heddle::emulator {

inline float fromBFloat(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

// Rounds a double once to a format with `exponentBits` and `mantissaBits`, and returns the bits of the result.
inline uint32_t roundTo(double value, int exponentBits, int mantissaBits, bool towardZero = false) {
  auto bits = std::bit_cast<uint64_t>(value);
  uint32_t sign = static_cast<uint32_t>(bits >> 63) << (exponentBits + mantissaBits);
  uint32_t infinity = ((1u << exponentBits) - 1) << mantissaBits;
  if (std::isnan(value))
    return (1u << (exponentBits + mantissaBits)) - 1; // the only NaN that PTX produces
  if (std::isinf(value))
    return sign | infinity;
  if (value == 0)
    return sign;
  int bias = (1 << (exponentBits - 1)) - 1;
  int exponent = std::ilogb(value);
  // The unit in the last place is fixed below the smallest normal number.
  int unit = (exponent < 1 - bias ? 1 - bias : exponent) - mantissaBits;
  double scaled = std::ldexp(std::fabs(value), -unit); // exact: only the exponent moves
  double whole = std::floor(scaled), rest = scaled - whole;
  auto count = static_cast<uint64_t>(whole);
  if (!towardZero && (rest > 0.5 || (rest == 0.5 && (count & 1))))
    ++count;
  // A carry moves into the exponent by itself.
  uint64_t result = exponent < 1 - bias ? count : (uint64_t(exponent + bias - 1) << mantissaBits) + count;
  if (result >= infinity)
    return sign | (towardZero ? infinity - 1 : infinity);
  return sign | static_cast<uint32_t>(result);
}

inline uint16_t toHalf(double value) { return static_cast<uint16_t>(roundTo(value, 5, 10)); }
inline uint16_t toBFloat(double value) { return static_cast<uint16_t>(roundTo(value, 8, 7)); }

inline float fromHalf(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16, exponent = bits >> 10 & 31, mantissa = bits & 1023;
  if (exponent == 31)
    return std::bit_cast<float>(sign | 0x7f800000 | mantissa << 13);
  if (exponent)
    return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  float small = static_cast<float>(mantissa) * 0x1p-24f;
  return sign ? -small : small;
}

// Returns what a tensor core reads from an f32 register that should hold tf32: it ignores the low bits.
inline float fromTensorFloat(uint32_t bits) { return std::bit_cast<float>(bits & 0xffffe000); }

// Adds some products to a sum as tensor cores do: all are shifted to the exponent of the largest, which keeps 25 bits,
// and lower bits are truncated. The result is then truncated to f32.
inline float addTruncated(float start, const double *products, unsigned count) {
  double largest = std::fabs(double(start)), plain = start;
  for (unsigned k = 0; k < count; ++k) {
    largest = std::max(largest, std::fabs(products[k]));
    plain += products[k];
  }
  if (largest == 0 || !std::isfinite(plain))
    return static_cast<float>(plain);
  auto exponent = std::bit_cast<uint64_t>(largest) >> 52;                         // biased
  auto scale = std::bit_cast<double>((uint64_t(2 * 1023 + 24) - exponent) << 52); // 2^(24 - exponent)
  auto whole = static_cast<int64_t>(double(start) * scale);
  for (unsigned k = 0; k < count; ++k)
    whole += static_cast<int64_t>(products[k] * scale);
  double sum = static_cast<double>(whole) / scale;
  auto rounded = static_cast<float>(sum);
  return std::isfinite(rounded) && std::fabs(double(rounded)) > std::fabs(sum) ? std::nextafter(rounded, 0.0f)
                                                                               : rounded;
}

// Returns a table of all f16 values, for code that converts many.
const float *halfTable();

} // namespace heddle::emulator
