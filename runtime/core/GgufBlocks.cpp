#include "runtime/core/GgufBlocks.h"

#include "runtime/core/Narrow.h"

#include <cmath>
#include <cstdint>
#include <cstring>

namespace heddle {
namespace {

int byteAt(const std::byte *place) { return std::to_integer<int>(*place); }

uint16_t bitsAt(const std::byte *place) {
  uint16_t bits;
  std::memcpy(&bits, place, sizeof bits);
  return bits;
}
float halfAt(const std::byte *place) { return widenF16(bitsAt(place)); }

// Returns number i of 32 4-bit numbers in 16 bytes. The lower halves of the bytes are the first 16 numbers.
int nibbleOf(const std::byte *bytes, int i) { return byteAt(bytes + i % 16) >> (i / 16 * 4) & 15; }

// Returns bit i of 32 in four bytes.
int bitOf(const std::byte *bytes, int i) { return byteAt(bytes + i / 8) >> (i % 8) & 1; }

// A scale and an offset of 6 bits each.
struct SixBits {
  int scale, offset;
};

// Returns pair i of the eight pairs in 12 bytes of Q4_K and Q5_K:
//   bytes 0 to 3    lower 6 bits: scales 0 to 3; upper 2 bits: the upper 2 bits of scales 4 to 7
//   bytes 4 to 7    the same for the offsets
//   bytes 8 to 11   the lower 4 bits of scales 4 to 7 (lower half) and of offsets 4 to 7 (upper half)
SixBits sixBitsOf(const std::byte *bytes, int i) {
  if (i < 4)
    return {byteAt(bytes + i) & 63, byteAt(bytes + i + 4) & 63};
  int both = byteAt(bytes + i + 4);
  return {(both & 15) | byteAt(bytes + i - 4) >> 6 << 4, both >> 4 | byteAt(bytes + i) >> 6 << 4};
}

// Returns number i of 256 2-bit numbers in 64 bytes. A byte has a number from each of four consecutive runs of 32.
int pairOf(const std::byte *bytes, int i) { return byteAt(bytes + 32 * (i / 128) + i % 32) >> (i % 128 / 32 * 2) & 3; }

} // namespace

void widenF32Number(const std::byte *number, float *value) { std::memcpy(value, number, sizeof(float)); }
void widenF16Number(const std::byte *number, float *value) { *value = halfAt(number); }
void widenBF16Number(const std::byte *number, float *value) { *value = widenBF16(bitsAt(number)); }

void unpackQ8_0(const std::byte *block, BlockParts &parts) {
  parts.factor = halfAt(block);
  std::memcpy(parts.numbers, block + 2, 32);
}

void unpackQ4_0(const std::byte *block, BlockParts &parts) {
  parts.factor = halfAt(block);
  for (int i = 0; i < 32; ++i)
    parts.numbers[i] = int8_t(nibbleOf(block + 2, i) - 8);
}

void unpackQ4_1(const std::byte *block, BlockParts &parts) {
  parts.factor = halfAt(block), parts.offsetFactor = halfAt(block + 2);
  for (int i = 0; i < 32; ++i)
    parts.numbers[i] = int8_t(nibbleOf(block + 4, i));
}

void unpackQ5_0(const std::byte *block, BlockParts &parts) {
  parts.factor = halfAt(block);
  for (int i = 0; i < 32; ++i)
    parts.numbers[i] = int8_t((nibbleOf(block + 6, i) | bitOf(block + 2, i) << 4) - 16);
}

void unpackQ5_1(const std::byte *block, BlockParts &parts) {
  parts.factor = halfAt(block), parts.offsetFactor = halfAt(block + 2);
  for (int i = 0; i < 32; ++i)
    parts.numbers[i] = int8_t(nibbleOf(block + 8, i) | bitOf(block + 4, i) << 4);
}

// Layout: 16 bytes, each with the scale (lower half) and the offset of a group of 16 numbers; the numbers; the factors.
// Offsets are subtracted.
void unpackQ2_K(const std::byte *block, BlockParts &parts) {
  parts.factor = halfAt(block + 80), parts.offsetFactor = -halfAt(block + 82);
  for (int group = 0; group < 16; ++group) {
    int both = byteAt(block + group);
    parts.scales[group] = int8_t(both & 15), parts.offsets[group] = int8_t(both >> 4);
  }
  for (int i = 0; i < 256; ++i)
    parts.numbers[i] = int8_t(pairOf(block + 16, i));
}

// Layout: 32 bytes with the third bit of each number; the lower two bits; 16 scales of 6 bits; the factor. Numbers are
// stored plus 4, scales plus 32. The first 8 bytes of the scales have the lower 4 bits: in their lower halves those of
// scales 0 to 7, in their upper halves those of scales 8 to 15. Each of the last 4 bytes has the upper bits of four
// scales.
void unpackQ3_K(const std::byte *block, BlockParts &parts) {
  const std::byte *scales = block + 96;
  parts.factor = halfAt(block + 108);
  for (int group = 0; group < 16; ++group) {
    int low = byteAt(scales + group % 8) >> (group / 8 * 4) & 15;
    int high = byteAt(scales + 8 + group % 4) >> (group / 4 * 2) & 3;
    parts.scales[group] = int8_t((low | high << 4) - 32);
  }
  for (int i = 0; i < 256; ++i) {
    int third = byteAt(block + i % 32) >> (i / 32) & 1;
    parts.numbers[i] = int8_t((pairOf(block + 32, i) | third << 2) - 4);
  }
}

// Unpacks the factors, scales and offsets of Q4_K and Q5_K.
static void unpackPairs(const std::byte *block, BlockParts &parts) {
  parts.factor = halfAt(block), parts.offsetFactor = -halfAt(block + 2);
  for (int group = 0; group < 8; ++group) {
    SixBits pair = sixBitsOf(block + 4, group);
    parts.scales[group] = int8_t(pair.scale), parts.offsets[group] = int8_t(pair.offset);
  }
}

// Layout: the factors of scales and offsets; the scales and offsets; the numbers. Each 32 bytes hold two runs of 32
// numbers.
void unpackQ4_K(const std::byte *block, BlockParts &parts) {
  unpackPairs(block, parts);
  for (int i = 0; i < 256; ++i)
    parts.numbers[i] = int8_t(byteAt(block + 16 + 32 * (i / 64) + i % 32) >> (i % 64 / 32 * 4) & 15);
}

// Like Q4_K, but 32 bytes with the fifth bits precede the numbers: bit k of byte j belongs to number j of run k.
void unpackQ5_K(const std::byte *block, BlockParts &parts) {
  unpackPairs(block, parts);
  for (int i = 0; i < 256; ++i) {
    int low = byteAt(block + 48 + 32 * (i / 64) + i % 32) >> (i % 64 / 32 * 4) & 15;
    int fifth = byteAt(block + 16 + i % 32) >> (i / 32) & 1;
    parts.numbers[i] = int8_t(low | fifth << 4);
  }
}

// Two halves of 128 6-bit numbers, stored plus 32. Layout: the lower four bits of all numbers; the upper two bits; an
// 8-bit scale for each 16 numbers; the scales' factor. The numbers of a half are four runs of 32.
void unpackQ6_K(const std::byte *block, BlockParts &parts) {
  parts.factor = halfAt(block + 208);
  std::memcpy(parts.scales, block + 192, 16);
  for (int i = 0; i < 256; ++i) {
    int half = i / 128, run = i % 128 / 32;
    int low = byteAt(block + 64 * half + 32 * (run % 2) + i % 32) >> (run / 2 * 4) & 15;
    parts.numbers[i] = int8_t((low | pairOf(block + 128, i) << 4) - 32);
  }
}

void unpackIQ4_NL(const std::byte *block, BlockParts &parts) {
  parts.factor = halfAt(block);
  for (int i = 0; i < 32; ++i)
    parts.numbers[i] = int8_t(nibbleOf(block + 2, i));
}

// Layout: the factor; the upper 2 bits of the scales, one scale for each 32 numbers; their lower 4 bits; the indices.
// Scales are stored plus 32.
void unpackIQ4_XS(const std::byte *block, BlockParts &parts) {
  parts.factor = halfAt(block);
  int upper = bitsAt(block + 2);
  for (int group = 0; group < 8; ++group) {
    int low = byteAt(block + 4 + group / 2) >> (group % 2 * 4) & 15;
    parts.scales[group] = int8_t((low | (upper >> (2 * group) & 3) << 4) - 32);
    for (int i = 0; i < 32; ++i)
      parts.numbers[32 * group + i] = int8_t(nibbleOf(block + 8 + 16 * group, i));
  }
}

void unpackMXFP4(const std::byte *block, BlockParts &parts) {
  parts.factor = std::ldexp(1.0f, byteAt(block) - 128);
  for (int i = 0; i < 32; ++i)
    parts.numbers[i] = int8_t(nibbleOf(block + 1, i));
}

} // namespace heddle
