#include "tools/heddle-run/call/Compare.h"
#include "tools/heddle-run/call/NamedFile.h"
#include "tools/heddle-run/call/RandomInputs.h"
#include "tools/heddle-run/text/InputLines.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <unistd.h>

using namespace heddle;
using namespace heddle::run;
using Strings = std::vector<std::string>;

namespace {

TEST(NamedFile, Parse) {
  auto file = NamedFile::parse("--input", "a.b=@/x=@y.npy");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->name, "a.b");
  EXPECT_EQ(file->path, "/x=@y.npy");
  for (const char *text : {"", "a", "a=", "a=@", "=@x", "a=x.npy"})
    EXPECT_FALSE(NamedFile::parse("--input", text).ok()) << text;
}

Comparison compareFloats(std::initializer_list<float> actual, std::initializer_list<float> expected) {
  return compare(HostTensor::vector(actual), HostTensor::vector(expected), 1e-3).value();
}

TEST(Compare, Floats) {
  const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(compareFloats({1, -2, nan, infinity}, {1, -2, nan, infinity}).matches());
  EXPECT_TRUE(compareFloats({1000.5f, 0.0005f}, {1000, 0}).matches());
  EXPECT_EQ(compareFloats({nan, 1, infinity, 2}, {1, nan, 1, infinity}).wrong, 4u);
  EXPECT_FALSE(compareFloats({-infinity}, {infinity}).matches());
  Comparison comparison = compareFloats({1, 2.5f, 3}, {1, 2, 4});
  EXPECT_EQ(comparison.wrong, 2u);
  EXPECT_EQ(comparison.firstWrong, 1u);
  EXPECT_DOUBLE_EQ(comparison.largestAbsolute, 1);
  EXPECT_DOUBLE_EQ(comparison.largestRelative, 0.25);
  EXPECT_NE(comparison.describe().find("2 of 3 values are wrong, the first at index 1: 2.5 instead of 2"),
            std::string::npos)
      << comparison.describe();
}

TEST(Compare, IntegersAreEqualOrWrong) {
  auto comparison = compare(HostTensor::vector<int32_t>({1'000'001}), HostTensor::vector<int32_t>({1'000'000}), 1);
  EXPECT_FALSE(comparison->matches());
}

TEST(Compare, ShapesAndTypesMustAgree) {
  EXPECT_FALSE(compare(HostTensor::vector<float>({1}), HostTensor::vector<float>({1, 2}), 1).ok());
  EXPECT_FALSE(compare(HostTensor::vector<float>({1}), HostTensor::vector<int32_t>({1}), 1).ok());
}

TEST(RandomInputs, ShareTheTokens) {
  EntryInfo entry{"eval",
                  {{"source", ElementType::I32, {{"source_tokens", 100}}, 50},
                   {"source_positions", ElementType::I32, {{"source_tokens", 100}}, 16},
                   {"source_starts", ElementType::I32, {{"sequences", 8}}, 101},
                   {"source_lengths", ElementType::I32, {{"sequences", 8}}, 17},
                   {"loss_scale", ElementType::F32, {{"", 1}}, 0}},
                  {}};
  auto inputs = randomInputs(entry);
  ASSERT_TRUE(inputs.ok()) << inputs.message();
  for (int32_t id : (*inputs)[0].tensor.values<int32_t>())
    EXPECT_TRUE(id >= 0 && id < 50);
  auto starts = (*inputs)[2].tensor.values<int32_t>(), lengths = (*inputs)[3].tensor.values<int32_t>();
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(starts[i], int32_t(12 * i));
    EXPECT_EQ(lengths[i], 12);
  }
  for (int32_t position : (*inputs)[1].tensor.values<int32_t>())
    EXPECT_LT(position, 12);
}

TEST(InputLines, TakesWhatIsThere) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  auto send = [&](std::string_view text) { ASSERT_EQ(write(ends[1], text.data(), text.size()), ssize_t(text.size())); };
  InputLines input(ends[0]);
  send("one\n\ntwo\r\nthr");
  EXPECT_EQ(input.next(10).value(), (Strings{"one", "", "two"}));
  send("ee\nfour\nfive\nend");
  EXPECT_EQ(input.next(2).value(), (Strings{"three", "four"}));
  close(ends[1]);
  EXPECT_EQ(input.next(10).value(), (Strings{"five", "end"}));
  EXPECT_TRUE(input.next(10)->empty());
  close(ends[0]);
}

} // namespace
