// Unpacks and packs blocks of GGUF's packed types. The layouts are those of ggml's quants.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle {

// Converts a plain number to f32.
using WidenNumber = void(const std::byte *number, float *value);
WidenNumber widenF32Number, widenF16Number, widenBF16Number;

// The parts of an unpacked block of up to 256 numbers. A value is its number times the scale of its group, plus the
// group's offset. If the type has a table, `numbers` has indices into it. A scale is `factor` times an entry of `scales`,
// and an offset is `offsetFactor` times an entry of `offsets`. In types without integer scales, the factors themselves are
// the scale and the offset.
struct BlockParts {
  int8_t numbers[256];
  int8_t scales[16], offsets[16];
  float factor, offsetFactor;
};

using UnpackBlock = void(const std::byte *block, BlockParts &parts);

// 32 numbers of 4, 5 or 8 bits with an f16 scale; *_1 also has an f16 offset.
UnpackBlock unpackQ4_0, unpackQ4_1, unpackQ5_0, unpackQ5_1, unpackQ8_0;
// 256 numbers of 2 to 6 bits. Each group of 16 or 32 numbers has a small integer scale, and in Q2_K, Q4_K and Q5_K an
// offset. The scales share an f16 factor, and so do the offsets.
UnpackBlock unpackQ2_K, unpackQ3_K, unpackQ4_K, unpackQ5_K, unpackQ6_K;
// 4-bit indices into a table of 16 numbers, with scales like Q4_0 (IQ4_NL) or Q3_K (IQ4_XS).
UnpackBlock unpackIQ4_NL, unpackIQ4_XS;
// 32 numbers of 4 bits (E2M1) with an 8-bit exponent: OCP Microscaling Formats 1.0, section 5.2. The table has the
// doubled numbers, which are integers, and the scale is halved.
UnpackBlock unpackMXFP4;

// Packs values, rounded to nearest, for the types that Heddle writes.
using NarrowBlock = void(const float *values, std::byte *block);

NarrowBlock narrowF32Block, narrowF16Block, narrowBF16Block;
// The value of the largest magnitude becomes 127 (Q8_0) or -8 (Q4_0), as in llama.cpp's files.
NarrowBlock narrowQ8_0, narrowQ4_0;
// Tries several scales and offsets for each 32 values and takes those with the least square error.
NarrowBlock narrowQ4_K;

} // namespace heddle
