#include "runtime/core/GgufTypes.h"

#include "runtime/core/Narrow.h"
#include "runtime/core/Status.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace heddle {
namespace {

enum : uint32_t { F32 = kGgufF32, F16 = 1, Q4_0 = 2, Q8_0 = 8, Q6_K = 14, BF16 = 30 };

constexpr GgufType kTypes[] = {{F32, "F32", 1, 4},
                               {F16, "F16", 1, 2},
                               {BF16, "BF16", 1, 2},
                               {Q8_0, "Q8_0", 32, 34},
                               {Q4_0, "Q4_0", 32, 18},
                               {Q6_K, "Q6_K", 256, 210},
                               {3, "Q4_1"},
                               {6, "Q5_0"},
                               {7, "Q5_1"},
                               {9, "Q8_1"},
                               {10, "Q2_K"},
                               {11, "Q3_K"},
                               {12, "Q4_K"},
                               {13, "Q5_K"},
                               {15, "Q8_K"},
                               {16, "IQ2_XXS"},
                               {17, "IQ2_XS"},
                               {18, "IQ3_XXS"},
                               {19, "IQ1_S"},
                               {20, "IQ4_NL"},
                               {21, "IQ3_S"},
                               {22, "IQ2_S"},
                               {23, "IQ4_XS"},
                               {24, "I8"},
                               {25, "I16"},
                               {26, "I32"},
                               {27, "I64"},
                               {28, "F64"},
                               {29, "IQ1_M"},
                               {34, "TQ1_0"},
                               {35, "TQ2_0"},
                               {39, "MXFP4"}};

uint16_t bitsAt(const std::byte *place) {
  uint16_t bits;
  std::memcpy(&bits, place, sizeof bits);
  return bits;
}

// A scale, then 32 numbers of 8 bits.
void widenQ8(const std::byte *block, float *values) {
  float scale = widenF16(bitsAt(block));
  for (int i = 0; i < 32; ++i)
    values[i] = scale * float(std::to_integer<int8_t>(block[2 + i]));
}

// The largest number becomes 127, as in llama.cpp's files.
void narrowQ8(const float *values, std::byte *block) {
  float largest = 0;
  for (int i = 0; i < 32; ++i)
    largest = std::max(largest, std::abs(values[i]));
  float scale = largest / 127, inverse = scale == 0 ? 0 : 1 / scale;
  uint16_t bits = narrowF16(scale);
  std::memcpy(block, &bits, sizeof bits);
  for (int i = 0; i < 32; ++i)
    block[2 + i] = std::byte(uint8_t(int8_t(std::lround(values[i] * inverse))));
}

// A scale, then 16 bytes: number i is the lower half of byte i, number 16 + i its upper half, each 8 too large.
void widenQ4(const std::byte *block, float *values) {
  float scale = widenF16(bitsAt(block));
  for (int i = 0; i < 16; ++i) {
    int both = std::to_integer<int>(block[2 + i]);
    values[i] = scale * float((both & 15) - 8);
    values[16 + i] = scale * float((both >> 4) - 8);
  }
}

// Two halves of 128 numbers of 6 bits, each 32 too large: the lower four bits of all, the upper two of all, a scale of
// 8 bits for each 16 numbers, and a scale of these. A half's numbers are four runs of 32, and a byte has bits of
// several runs.
void widenQ6(const std::byte *block, float *values) {
  const std::byte *scales = block + 192;
  float scale = widenF16(bitsAt(block + 208));
  for (int i = 0; i < 256; ++i) {
    int half = i / 128, run = i % 128 / 32, column = i % 32;
    int low = std::to_integer<int>(block[64 * half + 32 * (run % 2) + column]) >> (run / 2 * 4) & 15;
    int high = std::to_integer<int>(block[128 + 32 * half + column]) >> (2 * run) & 3;
    values[i] = scale * float(std::to_integer<int8_t>(scales[i / 16])) * float((low | high << 4) - 32);
  }
}

} // namespace

const GgufType *findGgufType(uint32_t number) {
  auto found = std::ranges::find(kTypes, number, &GgufType::number);
  return found == std::end(kTypes) ? nullptr : found;
}

std::string nameOfGgufType(uint32_t number) {
  const GgufType *type = findGgufType(number);
  return type ? type->name : str("type ", number);
}

std::string readGgufTypes() {
  std::string names;
  for (const GgufType &type : kTypes)
    if (type.isRead())
      names += str(names.empty() ? "" : ", ", type.name);
  return names;
}

std::optional<GgufKind> ggufKindOf(std::string_view name) {
  if (name == "F32")
    return GgufKind::F32;
  if (name == "F16")
    return GgufKind::F16;
  return name == "Q8_0" ? std::optional(GgufKind::Q8_0) : std::nullopt;
}

const GgufType &typeOfTensor(GgufKind kind, std::span<const int64_t> shape) {
  uint32_t type = F32;
  if (shape.size() > 1 && kind == GgufKind::F16)
    type = F16;
  if (shape.size() > 1 && kind == GgufKind::Q8_0 && shape.back() % 32 == 0)
    type = Q8_0;
  return *findGgufType(type);
}

std::vector<std::byte> narrowBlocks(const GgufType &type, std::span<const float> values) {
  std::vector<std::byte> blocks(values.size() / type.values * type.bytes);
  for (size_t block = 0; block * type.values < values.size(); ++block) {
    const float *from = values.data() + block * type.values;
    std::byte *to = blocks.data() + block * type.bytes;
    if (type.number == Q8_0) {
      narrowQ8(from, to);
    } else if (type.number == F16) {
      uint16_t bits = narrowF16(*from);
      std::memcpy(to, &bits, sizeof bits);
    } else {
      assert(type.number == F32);
      std::memcpy(to, from, sizeof(float));
    }
  }
  return blocks;
}

void widenBlocks(const GgufType &type, std::span<const std::byte> blocks, std::span<float> values) {
  for (size_t block = 0; block * type.values < values.size(); ++block) {
    const std::byte *from = blocks.data() + block * type.bytes;
    float *to = values.data() + block * type.values;
    switch (type.number) {
    case F32:
      std::memcpy(to, from, sizeof(float));
      break;
    case F16:
      *to = widenF16(bitsAt(from));
      break;
    case BF16:
      *to = widenBF16(bitsAt(from));
      break;
    case Q8_0:
      widenQ8(from, to);
      break;
    case Q4_0:
      widenQ4(from, to);
      break;
    case Q6_K:
      widenQ6(from, to);
      break;
    default:
      assert(false && "a type that is not read");
    }
  }
}

} // namespace heddle
