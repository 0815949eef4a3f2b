// How each block of a packed GGUF type becomes numbers. The layouts are those of ggml's quants.
#pragma once

#include <cstddef>

namespace heddle {

// Writes a block's numbers in f32. `block` has the type's bytes, `values` room for its numbers (GgufTypes.h).
using WidenBlock = void(const std::byte *block, float *values);

// 32 numbers of 4, 5 or 8 bits with a scale in f16; *_1 has an offset in f16 too.
WidenBlock widenQ4_0, widenQ4_1, widenQ5_0, widenQ5_1, widenQ8_0;
// 256 numbers of 2 to 6 bits. Each 16 or 32 of them have a scale of a few bits, and Q2_K, Q4_K and Q5_K an offset; the
// scales have a common factor in f16, and so have the offsets.
WidenBlock widenQ2_K, widenQ3_K, widenQ4_K, widenQ5_K, widenQ6_K;
// 4-bit indices of 16 fixed numbers, with scales as Q4_0 has (IQ4_NL) or as Q3_K has (IQ4_XS).
WidenBlock widenIQ4_NL, widenIQ4_XS;
// 32 numbers of 4 bits (E2M1) with an exponent of 8 bits: OCP Microscaling Formats 1.0, section 5.2.
WidenBlock widenMXFP4;
WidenBlock widenF32Block, widenF16Block, widenBF16Block; // one number

// The other way round, of the types that Heddle writes; numbers are rounded to nearest.
using NarrowBlock = void(const float *values, std::byte *block);

NarrowBlock narrowF32Block, narrowF16Block, narrowBF16Block;
// The number of the largest magnitude is 127 scales, or -8 scales, as in llama.cpp's files.
NarrowBlock narrowQ8_0, narrowQ4_0;
// Scales and offsets of each 32 numbers are those of the least square error among some that are tried.
NarrowBlock narrowQ4_K;

} // namespace heddle
