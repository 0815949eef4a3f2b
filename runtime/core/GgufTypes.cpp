#include "runtime/core/GgufTypes.h"

#include "runtime/core/Status.h"

#include <algorithm>
#include <cassert>

namespace heddle {
namespace {

constexpr GgufType kTypes[] = {{kGgufF32, "F32", 1, 4, widenF32Block, narrowF32Block},
                               {1, "F16", 1, 2, widenF16Block, narrowF16Block},
                               {30, "BF16", 1, 2, widenBF16Block, narrowBF16Block},
                               {8, "Q8_0", 32, 34, widenQ8_0, narrowQ8_0},
                               {2, "Q4_0", 32, 18, widenQ4_0, narrowQ4_0},
                               {3, "Q4_1", 32, 20, widenQ4_1},
                               {6, "Q5_0", 32, 22, widenQ5_0},
                               {7, "Q5_1", 32, 24, widenQ5_1},
                               {10, "Q2_K", 256, 84, widenQ2_K},
                               {11, "Q3_K", 256, 110, widenQ3_K},
                               {12, "Q4_K", 256, 144, widenQ4_K, narrowQ4_K},
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
  for (size_t block = 0; block * type.values < values.size(); ++block)
    type.widen(blocks.data() + block * type.bytes, values.data() + block * type.values);
}

} // namespace heddle
