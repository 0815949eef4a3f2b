// Weights packed as integers with scales.
#include "runtime/session/PackedWeights.h"
#include "runtime/core/GgufTypes.h"
#include "runtime/session/DeviceState.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace heddle {
namespace {

// Computes in double precision what kernels read from a packed weight.
double valueAt(const PackedWeight &packed, Shape whole, int64_t bits, int64_t row, int64_t column) {
  int64_t ofWord = 32 / bits;
  Shape scales = packed.scales.shape();
  auto word = static_cast<uint32_t>(packed.words.values<int32_t>()[size_t(row / ofWord * whole[1] + column)]);
  int64_t number = (word >> (bits * (row % ofWord))) & ((1u << bits) - 1);
  if (number >= int64_t(1) << (bits - 1))
    number -= int64_t(1) << bits;
  int64_t group = row / (whole[0] / scales[0]) * scales[1] + column / (whole[1] / scales[1]);
  return static_cast<double>(number) * packed.scales.values<float>()[size_t(group)];
}

HostTensor draw(Shape shape) {
  HostTensor values = std::move(HostTensor::uninitialized(ElementType::F32, shape)).value();
  std::mt19937 random(7);
  for (float &value : values.values<float>())
    value = std::normal_distribution<float>()(random);
  return values;
}

struct Packing {
  Shape whole, words, scales;
  int64_t bits;
};

// Every number is rounded to the nearest: within half a scale, or within one for 4 bits if the positive end is cut.
TEST(PackedWeightsTest, numbersAreTheNearest) {
  for (const Packing &packing : {Packing{{16, 6}, {4, 6}, {1, 6}, 8},
                                 {{9, 6}, {3, 6}, {9, 1}, 8},
                                 {{32, 6}, {4, 6}, {4, 6}, 4},
                                 {{10, 32}, {2, 32}, {10, 4}, 4},
                                 {{9, 1}, {2, 1}, {3, 1}, 4}}) {
    HostTensor values = draw(packing.whole);
    auto packed = packWeight(values, packing.words, packing.scales);
    ASSERT_TRUE(packed.ok()) << packed.message();
    for (int64_t row = 0; row < packing.whole[0]; ++row)
      for (int64_t column = 0; column < packing.whole[1]; ++column) {
        double wanted = values.values<float>()[size_t(row * packing.whole[1] + column)];
        int64_t groupRows = packing.whole[0] / packing.scales[0], groupColumns = packing.whole[1] / packing.scales[1];
        double scale = std::fabs(
            packed->scales.values<float>()[size_t(row / groupRows * packing.scales[1] + column / groupColumns)]);
        EXPECT_NEAR(valueAt(*packed, packing.whole, packing.bits, row, column), wanted,
                    scale * (packing.bits == 8 ? 0.5 : 1) + 1e-6);
      }
  }
}

// Numbers that select values of a table are no plain numbers, although their words and scales look the same.
TEST(PackedWeightsTest, tablesAreParts) {
  const PackedFormat &plain = *findGgufType("Q4_0")->format, &selecting = *findGgufType("IQ4_NL")->format;
  VariableInfo words{.name = "w", .type = ElementType::I32, .shape = {4, 2}},
      scales{
          .name = "w.scales", .shape = {1, 2}, .narrow = NarrowType::F16, .role = VariableRole::Scales, .owner = "w"},
      table{.name = "w.table", .shape = {1, 16}, .role = VariableRole::Table, .owner = "w"};
  const VariableInfo without[] = {words, scales}, with[] = {words, scales, table};
  EXPECT_TRUE(keepsAs(without, words, plain, {32, 2}));
  EXPECT_FALSE(keepsAs(without, words, selecting, {32, 2}));
  EXPECT_FALSE(keepsAs(with, words, plain, {32, 2}));
  EXPECT_TRUE(keepsAs(with, words, selecting, {32, 2}));
  EXPECT_FALSE(keepsAs(with, words, *findGgufType("MXFP4")->format, {32, 2}));

  PackedTensor tensor{.format = selecting, .numbers = draw({32, 2}), .scales = draw({1, 2})};
  for (float &number : tensor.numbers.values<float>())
    number = 15;
  auto parts = packParts(with, words, std::move(tensor));
  ASSERT_TRUE(parts.ok());
  ASSERT_EQ(parts->size(), 3u);
  EXPECT_EQ(uint32_t((*parts)[0].second.values<int32_t>()[0]), 0xffffffffu);
  EXPECT_EQ((*parts)[1].first, "w.table");
  EXPECT_EQ((*parts)[1].second.values<float>()[0], -127);
  EXPECT_EQ((*parts)[1].second.values<float>()[15], 113);
}

// Two panels of two columns: the rows of the first come first. A row of scales is the same without panels.
TEST(PackedWeightsTest, columnsMayBeInPanels) {
  VariableInfo words{.name = "w", .type = ElementType::I32, .shape = {4, 2}},
      scales{.name = "w.scales", .shape = {4, 2}, .role = VariableRole::Scales, .owner = "w"}, row = scales;
  row.shape = {1, 4};
  const VariableInfo groups[] = {words, scales}, whole[] = {words, row};
  PackedFormat format{.bits = 8, .group = 4};
  EXPECT_TRUE(keepsAs(groups, words, format, {8, 4}));
  EXPECT_FALSE(keepsAs(groups, words, format, {8, 3}));
  EXPECT_FALSE(keepsAs(groups, words, format, {8, 6}));
  EXPECT_FALSE(keepsAs(whole, words, format, {8, 4}));

  HostTensor values = draw({8, 4});
  for (Variables all : {Variables(groups), Variables(whole)}) {
    const Shape &ofScales = all[1].shape;
    int64_t count = ofScales[1] == 4 ? 1 : 2;
    PackedWeight plain = std::move(packWeight(values, {2, 4}, {count, 4})).value();
    auto parts = packWeight(all, words, values);
    ASSERT_TRUE(parts.ok());
    std::span<const int32_t> from = plain.words.values<int32_t>(), to = (*parts)[0].second.values<int32_t>();
    std::span<const float> factors = plain.scales.values<float>(), stored = (*parts)[1].second.values<float>();
    for (size_t row = 0; row < 2; ++row)
      for (size_t column = 0; column < 4; ++column)
        EXPECT_EQ(to[column / 2 * 4 + row * 2 + column % 2], from[row * 4 + column]);
    for (size_t row = 0; row < size_t(count); ++row)
      for (size_t column = 0; column < 4; ++column)
        EXPECT_EQ(stored[count == 1 ? column : column / 2 * 4 + row * 2 + column % 2], factors[row * 4 + column]);
  }
  EXPECT_FALSE(packWeight(groups, words, draw({8, 6})).ok());
}

// A weight in f16 keeps every number or is refused; other variables, and bf16, hold large numbers as infinity or rounded.
TEST(PackedWeightsTest, numbersBeyondF16AreRefused) {
  VariableInfo weight{.name = "w", .shape = {1, 2}, .narrow = NarrowType::F16}, wide = weight, state = weight;
  wide.narrow = NarrowType::BF16;
  state.kind = VariableKind::OptimizerState;
  std::vector<float> within = {65504, -65504}, beyond = {1, -70000},
                     infinite = {1, std::numeric_limits<float>::infinity()};
  EXPECT_TRUE(narrowed(weight, within).ok());
  EXPECT_TRUE(narrowed(weight, infinite).ok());
  EXPECT_NE(narrowed(weight, beyond).message().find("'w' has -70000, which 16-bit floats (f16) cannot hold"),
            std::string::npos);
  EXPECT_TRUE(narrowed(wide, beyond).ok());
  EXPECT_TRUE(narrowed(state, beyond).ok());
}

TEST(PackedWeightsTest, zerosStayZeros) {
  HostTensor values = std::move(HostTensor::create<float>({8, 2}, std::vector<float>(16, 0.0f))).value();
  auto packed = packWeight(values, {2, 2}, {1, 2});
  ASSERT_TRUE(packed.ok());
  for (int32_t word : packed->words.values<int32_t>())
    EXPECT_EQ(word, 0);
  EXPECT_EQ(packed->scales.values<float>()[0], 0);
}

TEST(PackedWeightsTest, shapesThatDoNotFitAreRefused) {
  HostTensor values = draw({16, 6});
  for (const auto &[words, scales] : {std::pair(Shape{5, 6}, Shape{1, 6}),
                                      {Shape{4, 5}, Shape{1, 6}},
                                      {Shape{4, 6}, Shape{3, 6}},
                                      {Shape{4, 6}, Shape{6}},
                                      {Shape{0, 6}, Shape{1, 6}},
                                      {Shape{4, 6}, Shape{0, 6}}})
    EXPECT_EQ(packWeight(values, words, scales).error().kind, ErrorKind::InvalidArgument);
  HostTensor numbers = std::move(HostTensor::create<int32_t>({8, 1}, std::vector<int32_t>(8))).value();
  EXPECT_FALSE(packWeight(numbers, {2, 1}, {1, 1}).ok());
}

TEST(PackedWeightsTest, whatIsNoNumberIsRefused) {
  HostTensor values = draw({8, 2});
  values.values<float>()[5] = std::numeric_limits<float>::quiet_NaN();
  auto packed = packWeight(values, {2, 2}, {1, 2});
  ASSERT_FALSE(packed.ok());
  EXPECT_NE(packed.message().find("nan in row 2 and column 1"), std::string::npos) << packed.message();
}

} // namespace
} // namespace heddle
