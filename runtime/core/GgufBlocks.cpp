#include "runtime/core/GgufBlocks.h"

#include "runtime/core/Narrow.h"

#include <cmath>
#include <cstdint>
#include <cstring>

namespace heddle {
namespace {

// The numbers that IQ4_NL and IQ4_XS choose from, close together around 0.
constexpr int kUneven[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
// Twice the sixteen values of E2M1: a sign, two bits of exponent, one of mantissa.
constexpr int kTwiceE2M1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

int byteAt(const std::byte *place) { return std::to_integer<int>(*place); }

uint16_t bitsAt(const std::byte *place) {
  uint16_t bits;
  std::memcpy(&bits, place, sizeof bits);
  return bits;
}
float halfAt(const std::byte *place) { return widenF16(bitsAt(place)); }

// Number i of 32 numbers of 4 bits in 16 bytes: the lower halves of the bytes are the first 16.
int nibbleOf(const std::byte *bytes, int i) { return byteAt(bytes + i % 16) >> (i / 16 * 4) & 15; }

// Bit i of 32 in four bytes.
int bitOf(const std::byte *bytes, int i) { return byteAt(bytes + i / 8) >> (i % 8) & 1; }

// A scale and an offset of 6 bits.
struct SixBits {
  int scale, offset;
};

// Pair i of eight in 12 bytes, of Q4_K and Q5_K: bytes 0 to 3 have the first four scales in their lower 6 bits, 4 to 7
// the first four offsets. Bytes 8 to 11 have the lower 4 bits of the others, and the upper 2 bits of the first 8 bytes
// have the upper 2.
SixBits sixBitsOf(const std::byte *bytes, int i) {
  if (i < 4)
    return {byteAt(bytes + i) & 63, byteAt(bytes + i + 4) & 63};
  int both = byteAt(bytes + i + 4);
  return {(both & 15) | byteAt(bytes + i - 4) >> 6 << 4, both >> 4 | byteAt(bytes + i) >> 6 << 4};
}

// Number i of 256 numbers of 2 bits in 64 bytes: a byte has a number of each of four runs of 32.
int pairOf(const std::byte *bytes, int i) { return byteAt(bytes + 32 * (i / 128) + i % 32) >> (i % 128 / 32 * 2) & 3; }

} // namespace

void widenF32Block(const std::byte *block, float *values) { std::memcpy(values, block, sizeof(float)); }
void widenF16Block(const std::byte *block, float *values) { *values = halfAt(block); }
void widenBF16Block(const std::byte *block, float *values) { *values = widenBF16(bitsAt(block)); }

void widenQ8_0(const std::byte *block, float *values) {
  float scale = halfAt(block);
  for (int i = 0; i < 32; ++i)
    values[i] = scale * float(std::to_integer<int8_t>(block[2 + i]));
}

void widenQ4_0(const std::byte *block, float *values) {
  float scale = halfAt(block);
  for (int i = 0; i < 32; ++i)
    values[i] = scale * float(nibbleOf(block + 2, i) - 8);
}

void widenQ4_1(const std::byte *block, float *values) {
  float scale = halfAt(block), offset = halfAt(block + 2);
  for (int i = 0; i < 32; ++i)
    values[i] = scale * float(nibbleOf(block + 4, i)) + offset;
}

void widenQ5_0(const std::byte *block, float *values) {
  float scale = halfAt(block);
  for (int i = 0; i < 32; ++i)
    values[i] = scale * float((nibbleOf(block + 6, i) | bitOf(block + 2, i) << 4) - 16);
}

void widenQ5_1(const std::byte *block, float *values) {
  float scale = halfAt(block), offset = halfAt(block + 2);
  for (int i = 0; i < 32; ++i)
    values[i] = scale * float(nibbleOf(block + 8, i) | bitOf(block + 4, i) << 4) + offset;
}

// 16 bytes with a scale (lower half) and an offset of each 16 numbers, the numbers, the factors.
void widenQ2_K(const std::byte *block, float *values) {
  float scale = halfAt(block + 80), offset = halfAt(block + 82);
  for (int i = 0; i < 256; ++i) {
    int both = byteAt(block + i / 16);
    values[i] = scale * float(both & 15) * float(pairOf(block + 16, i)) - offset * float(both >> 4);
  }
}

// 32 bytes with the third bit of each number, the lower two bits, 16 scales of 6 bits that are 32 too large, the
// factor. A number is 4 too large. The lower halves of the scales' first 8 bytes are the lower 4 bits of the first
// eight scales, their upper halves those of the others; the last 4 bytes have the upper bits, each those of four
// scales.
void widenQ3_K(const std::byte *block, float *values) {
  const std::byte *scales = block + 96;
  float factor = halfAt(block + 108);
  for (int i = 0; i < 256; ++i) {
    int group = i / 16;
    int low = byteAt(scales + group % 8) >> (group / 8 * 4) & 15;
    int high = byteAt(scales + 8 + group % 4) >> (group / 4 * 2) & 3;
    int third = byteAt(block + i % 32) >> (i / 32) & 1;
    values[i] = factor * float((low | high << 4) - 32) * float((pairOf(block + 32, i) | third << 2) - 4);
  }
}

// The factors of scales and offsets, the scales and offsets, the numbers: 32 bytes have two runs of 32.
void widenQ4_K(const std::byte *block, float *values) {
  float scale = halfAt(block), offset = halfAt(block + 2);
  for (int i = 0; i < 256; ++i) {
    SixBits group = sixBitsOf(block + 4, i / 32);
    int number = byteAt(block + 16 + 32 * (i / 64) + i % 32) >> (i % 64 / 32 * 4) & 15;
    values[i] = scale * float(group.scale) * float(number) - offset * float(group.offset);
  }
}

// As Q4_K, with 32 bytes of fifth bits before the others: bit k of byte j belongs to number j of run k.
void widenQ5_K(const std::byte *block, float *values) {
  float scale = halfAt(block), offset = halfAt(block + 2);
  for (int i = 0; i < 256; ++i) {
    SixBits group = sixBitsOf(block + 4, i / 32);
    int low = byteAt(block + 48 + 32 * (i / 64) + i % 32) >> (i % 64 / 32 * 4) & 15;
    int fifth = byteAt(block + 16 + i % 32) >> (i / 32) & 1;
    values[i] = scale * float(group.scale) * float(low | fifth << 4) - offset * float(group.offset);
  }
}

// Two halves of 128 numbers of 6 bits, each 32 too large: the lower four bits of all, the upper two of all, a scale of
// 8 bits for each 16 numbers, and their factor. A half's numbers are four runs of 32.
void widenQ6_K(const std::byte *block, float *values) {
  const std::byte *scales = block + 192;
  float factor = halfAt(block + 208);
  for (int i = 0; i < 256; ++i) {
    int half = i / 128, run = i % 128 / 32;
    int low = byteAt(block + 64 * half + 32 * (run % 2) + i % 32) >> (run / 2 * 4) & 15;
    int number = (low | pairOf(block + 128, i) << 4) - 32;
    values[i] = factor * float(std::to_integer<int8_t>(scales[i / 16])) * float(number);
  }
}

void widenIQ4_NL(const std::byte *block, float *values) {
  float scale = halfAt(block);
  for (int i = 0; i < 32; ++i)
    values[i] = scale * float(kUneven[nibbleOf(block + 2, i)]);
}

// The factor, the upper 2 bits of the scales of each 32 numbers, their lower 4 bits, the indices. A scale is 32 too
// large.
void widenIQ4_XS(const std::byte *block, float *values) {
  float factor = halfAt(block);
  int upper = bitsAt(block + 2);
  for (int i = 0; i < 256; ++i) {
    int group = i / 32;
    int low = byteAt(block + 4 + group / 2) >> (group % 2 * 4) & 15;
    float scale = factor * float((low | (upper >> (2 * group) & 3) << 4) - 32);
    values[i] = scale * float(kUneven[nibbleOf(block + 8 + 16 * group, i % 32)]);
  }
}

void widenMXFP4(const std::byte *block, float *values) {
  float half = std::ldexp(1.0f, byteAt(block) - 128);
  for (int i = 0; i < 32; ++i)
    values[i] = half * float(kTwiceE2M1[nibbleOf(block + 1, i)]);
}

} // namespace heddle
