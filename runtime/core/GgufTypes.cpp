#include "runtime/core/GgufTypes.h"

#include "runtime/core/Narrow.h"
#include "runtime/core/Status.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace heddle {
namespace {

enum : uint32_t { F32 = kGgufF32, F16 = 1, Q8_0 = 8 };

constexpr GgufType kTypes[] = {{F32, "F32", 1, 4, widenF32Block},
                               {F16, "F16", 1, 2, widenF16Block},
                               {30, "BF16", 1, 2, widenBF16Block},
                               {Q8_0, "Q8_0", 32, 34, widenQ8_0},
                               {2, "Q4_0", 32, 18, widenQ4_0},
                               {3, "Q4_1", 32, 20, widenQ4_1},
                               {6, "Q5_0", 32, 22, widenQ5_0},
                               {7, "Q5_1", 32, 24, widenQ5_1},
                               {10, "Q2_K", 256, 84, widenQ2_K},
                               {11, "Q3_K", 256, 110, widenQ3_K},
                               {12, "Q4_K", 256, 144, widenQ4_K},
                               {13, "Q5_K", 256, 176, widenQ5_K},
                               {14, "Q6_K", 256, 210, widenQ6_K},
                               {20, "IQ4_NL", 32, 18, widenIQ4_NL},
                               {23, "IQ4_XS", 256, 136, widenIQ4_XS},
                               {39, "MXFP4", 32, 17, widenMXFP4},
                               {9, "Q8_1"},
                               {15, "Q8_K"},
                               {16, "IQ2_XXS"},
                               {17, "IQ2_XS"},
                               {18, "IQ3_XXS"},
                               {19, "IQ1_S"},
                               {21, "IQ3_S"},
                               {22, "IQ2_S"},
                               {24, "I8"},
                               {25, "I16"},
                               {26, "I32"},
                               {27, "I64"},
                               {28, "F64"},
                               {29, "IQ1_M"},
                               {34, "TQ1_0"},
                               {35, "TQ2_0"},
                               {40, "NVFP4"}};

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
  assert(type.isRead());
  for (size_t block = 0; block * type.values < values.size(); ++block)
    type.widen(blocks.data() + block * type.bytes, values.data() + block * type.values);
}

} // namespace heddle
