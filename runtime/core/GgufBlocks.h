// How each block of a packed GGUF type becomes numbers. The layouts are those of ggml's quants.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle {

// Writes a plain number in f32.
using WidenNumber = void(const std::byte *number, float *value);
WidenNumber widenF32Number, widenF16Number, widenBF16Number;

// A block of up to 256 numbers, taken apart: a number times the scale of its group, plus the group's offset.
struct BlockParts {
  int8_t numbers[256];
  int8_t scales[16], offsets[16]; // of types whose scales are whole numbers; each times its factor
  float factor, offsetFactor;     // or the scale and the offset themselves
};

using UnpackBlock = void(const std::byte *block, BlockParts &parts);

// 32 numbers of 4, 5 or 8 bits with a scale in f16; *_1 has an offset in f16 too.
UnpackBlock unpackQ4_0, unpackQ4_1, unpackQ5_0, unpackQ5_1, unpackQ8_0;
// 256 numbers of 2 to 6 bits. Each 16 or 32 of them have a scale of a few bits, and Q2_K, Q4_K and Q5_K an offset; the
// scales have a common factor in f16, and so have the offsets.
UnpackBlock unpackQ2_K, unpackQ3_K, unpackQ4_K, unpackQ5_K, unpackQ6_K;
// 4-bit indices of 16 fixed numbers, with scales as Q4_0 has (IQ4_NL) or as Q3_K has (IQ4_XS).
UnpackBlock unpackIQ4_NL, unpackIQ4_XS;
// 32 numbers of 4 bits (E2M1) with an exponent of 8 bits: OCP Microscaling Formats 1.0, section 5.2. The numbers are
// twice as large here, and the scale half.
UnpackBlock unpackMXFP4;

// The other way round, of the types that Heddle writes; numbers are rounded to nearest.
using NarrowBlock = void(const float *values, std::byte *block);

NarrowBlock narrowF32Block, narrowF16Block, narrowBF16Block;
// The number of the largest magnitude is 127 scales, or -8 scales, as in llama.cpp's files.
NarrowBlock narrowQ8_0, narrowQ4_0;
// Scales and offsets of each 32 numbers are those of the least square error among some that are tried.
NarrowBlock narrowQ4_K;

} // namespace heddle
