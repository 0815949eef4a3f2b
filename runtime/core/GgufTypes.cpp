#include "runtime/core/GgufTypes.h"

#include "runtime/core/Status.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace heddle {
namespace {

constexpr PackedFormat inBlocksOf32(int64_t bits, int64_t highBits = 0, bool hasOffsets = false) {
  return {.bits = bits,
          .highBits = highBits,
          .isUnsigned = hasOffsets,
          .hasOffsets = hasOffsets,
          .group = 32,
          .narrow = NarrowType::F16};
}
constexpr PackedFormat withFactors(int64_t bits, int64_t highBits, bool hasOffsets, int64_t group,
                                   int64_t scaleBits = 8) {
  PackedFormat format = inBlocksOf32(bits, highBits, hasOffsets);
  format.group = group, format.scaleBits = scaleBits, format.factorGroup = 256;
  return format;
}

constexpr PackedFormat withTable(PackedFormat format, const int8_t *table) {
  format.isUnsigned = true, format.table = table;
  return format;
}

// The table of IQ4_NL and IQ4_XS, whose values are denser around 0.
constexpr int8_t kUneven[] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
// The sixteen values of E2M1 (a sign bit, two exponent bits, a mantissa bit), doubled.
constexpr int8_t kTwiceE2M1[] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

constexpr PackedFormat kQ8_0 = inBlocksOf32(8), kQ4_0 = inBlocksOf32(4), kQ4_1 = inBlocksOf32(4, 0, true),
                       kQ5_0 = inBlocksOf32(4, 1), kQ5_1 = inBlocksOf32(4, 1, true),
                       kQ2_K = withFactors(2, 0, true, 16, 4), kQ3_K = withFactors(2, 1, false, 16),
                       kQ4_K = withFactors(4, 0, true, 32), kQ5_K = withFactors(4, 1, true, 32),
                       kQ6_K = withFactors(4, 2, false, 16), kIQ4_NL = withTable(kQ4_0, kUneven),
                       kIQ4_XS = withTable(withFactors(4, 0, false, 32), kUneven);
// f16 cannot hold 8-bit exponents.
constexpr PackedFormat kMXFP4 = withTable({.bits = 4, .group = 32, .narrow = NarrowType::BF16}, kTwiceE2M1);

constexpr GgufType kTypes[] = {{kGgufF32, "F32", 1, 4, widenF32Number, nullptr, nullptr, narrowF32Block},
                               {1, "F16", 1, 2, widenF16Number, nullptr, nullptr, narrowF16Block},
                               {30, "BF16", 1, 2, widenBF16Number, nullptr, nullptr, narrowBF16Block},
                               {8, "Q8_0", 32, 34, nullptr, unpackQ8_0, &kQ8_0, narrowQ8_0},
                               {2, "Q4_0", 32, 18, nullptr, unpackQ4_0, &kQ4_0, narrowQ4_0},
                               {3, "Q4_1", 32, 20, nullptr, unpackQ4_1, &kQ4_1},
                               {6, "Q5_0", 32, 22, nullptr, unpackQ5_0, &kQ5_0},
                               {7, "Q5_1", 32, 24, nullptr, unpackQ5_1, &kQ5_1},
                               {10, "Q2_K", 256, 84, nullptr, unpackQ2_K, &kQ2_K},
                               {11, "Q3_K", 256, 110, nullptr, unpackQ3_K, &kQ3_K},
                               {12, "Q4_K", 256, 144, nullptr, unpackQ4_K, &kQ4_K, narrowQ4_K},
                               {13, "Q5_K", 256, 176, nullptr, unpackQ5_K, &kQ5_K},
                               {14, "Q6_K", 256, 210, nullptr, unpackQ6_K, &kQ6_K},
                               {20, "IQ4_NL", 32, 18, nullptr, unpackIQ4_NL, &kIQ4_NL},
                               {23, "IQ4_XS", 256, 136, nullptr, unpackIQ4_XS, &kIQ4_XS},
                               {39, "MXFP4", 32, 17, nullptr, unpackMXFP4, &kMXFP4},
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

} // namespace

const GgufType *findGgufType(uint32_t number) {
  auto found = std::ranges::find(kTypes, number, &GgufType::number);
  return found == std::end(kTypes) ? nullptr : found;
}

const GgufType *findGgufType(std::string_view name) {
  auto found = std::ranges::find(kTypes, name, &GgufType::name);
  return found == std::end(kTypes) ? nullptr : found;
}

uint32_t ggufFileType(uint32_t type) {
  constexpr std::pair<uint32_t, uint32_t> files[] = {{1, 1},   {30, 32}, {8, 7},   {2, 2},   {3, 3},
                                                     {6, 8},   {7, 9},   {10, 10}, {11, 12}, {12, 15},
                                                     {13, 17}, {14, 18}, {20, 25}, {23, 30}, {39, 38}};
  auto found = std::ranges::find(files, type, &std::pair<uint32_t, uint32_t>::first);
  return found == std::end(files) ? 0 : found->second;
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

std::string writtenGgufTypes() {
  std::string names;
  for (const GgufType &type : kTypes)
    if (type.narrow)
      names += str(names.empty() ? "" : ", ", type.name);
  return names;
}

const GgufType *findWrittenType(std::string_view name) {
  auto found = std::ranges::find_if(kTypes, [&](const GgufType &type) { return type.narrow && type.name == name; });
  return found == std::end(kTypes) ? nullptr : found;
}

const GgufType &typeOfTensor(const GgufType &wanted, std::span<const int64_t> shape) {
  auto fits = [&](const GgufType &type) { return shape.size() > 1 && shape.back() % type.values == 0; };
  const GgufType &smaller = *findWrittenType("Q8_0");
  bool isTooLarge = !fits(wanted) && wanted.values > smaller.values && fits(smaller);
  return *findGgufType(fits(wanted) ? wanted.number : isTooLarge ? smaller.number : kGgufF32);
}

std::vector<std::byte> narrowBlocks(const GgufType &type, std::span<const float> values) {
  assert(type.narrow);
  std::vector<std::byte> blocks(values.size() / type.values * type.bytes);
  for (size_t block = 0; block * type.values < values.size(); ++block)
    type.narrow(values.data() + block * type.values, blocks.data() + block * type.bytes);
  return blocks;
}

void widenBlocks(const GgufType &type, std::span<const std::byte> blocks, std::span<float> values) {
  assert(type.isRead());
  BlockParts parts = {};
  for (size_t block = 0; block * type.values < values.size(); ++block) {
    const std::byte *from = blocks.data() + block * type.bytes;
    float *to = values.data() + block * type.values;
    if (type.widen) {
      type.widen(from, to);
      continue;
    }
    type.unpack(from, parts);
    auto group = uint32_t(type.format->group);
    bool hasFactors = type.format->scaleBits > 0;
    for (uint32_t first = 0; first < type.values; first += group) {
      uint32_t place = first / group;
      float scale = hasFactors ? parts.factor * float(parts.scales[place]) : parts.factor;
      float offset = hasFactors ? parts.offsetFactor * float(parts.offsets[place]) : parts.offsetFactor;
      for (uint32_t i = first; i < first + group; ++i) {
        int8_t number = parts.numbers[i];
        to[i] = scale * float(type.format->table ? type.format->table[number] : number) + offset;
      }
    }
  }
}

} // namespace heddle
