#include "runtime/core/Log.h"
#include "runtime/text/InputLines.h"
#include "tools/heddle-run/call/Compare.h"
#include "tools/heddle-run/call/NamedFile.h"
#include "tools/heddle-run/call/RandomInputs.h"

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

TEST(WholeComparison, IntegersLendFloatsNoScale) {
  WholeComparison comparison;
  HostTensor tokens = HostTensor::vector<int32_t>({1'000'000, 2}), small = HostTensor::vector<float>({0.001f});
  ASSERT_TRUE(comparison.add("tokens", "a", tokens, tokens).ok());
  ASSERT_TRUE(comparison.add("loss", "a", HostTensor::vector<float>({0.002f}), small).ok());
  auto verdict = comparison.judge(1e-4);
  EXPECT_EQ(verdict.tensors, 2u);
  ASSERT_EQ(verdict.wrong.size(), 1u);
  EXPECT_EQ(verdict.wrong[0].name, "loss");
  EXPECT_NEAR(verdict.worst, 1, 1e-3);
}

TEST(WholeComparison, FloatsOfOneGroupShareAScale) {
  auto judge = [](const char *group) {
    WholeComparison comparison;
    HostTensor large = HostTensor::vector<float>({100}), small = HostTensor::vector<float>({0.001f});
    EXPECT_TRUE(comparison.add("large", "a", large, large).ok());
    EXPECT_TRUE(comparison.add("small", group, HostTensor::vector<float>({0.00101f}), small).ok());
    return comparison.judge(1e-4).wrong.size();
  };
  EXPECT_EQ(judge("a"), 0u); // off by 1e-5, within 1e-4 of a hundredth of 100
  EXPECT_EQ(judge("b"), 1u);
}

TEST(WholeComparison, InfinitiesAndNanAgreeWithTheirLike) {
  constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  auto isRight = [](float actual, float expected) {
    WholeComparison comparison;
    EXPECT_TRUE(
        comparison.add("y", "a", HostTensor::vector<float>({1, actual}), HostTensor::vector<float>({1, expected}))
            .ok());
    return comparison.judge(1e-4).wrong.empty();
  };
  EXPECT_TRUE(isRight(nan, nan));
  EXPECT_TRUE(isRight(-infinity, -infinity));
  EXPECT_FALSE(isRight(nan, 2));
  EXPECT_FALSE(isRight(2, nan));
  EXPECT_FALSE(isRight(infinity, -infinity));
  EXPECT_FALSE(isRight(nan, infinity));
}

TEST(WholeComparison, IntegersOfAGroupWithoutFloatsAreEqualOrWrong) {
  WholeComparison comparison;
  HostTensor zero = HostTensor::vector<int32_t>({0}), one = HostTensor::vector<int32_t>({1});
  ASSERT_TRUE(comparison.add("same", "a", zero, zero).ok());
  ASSERT_TRUE(comparison.add("other", "a", one, zero).ok());
  auto verdict = comparison.judge(1e-4);
  ASSERT_EQ(verdict.wrong.size(), 1u);
  EXPECT_EQ(verdict.wrong[0].name, "other");
}

EntryInfo evalEntry() {
  return {"eval",
          {{"source", ElementType::I32, {{"source_tokens", 100}}, 50},
           {"source_positions", ElementType::I32, {{"source_tokens", 100}}, 16, {}, "source", "positions"},
           {"source_starts", ElementType::I32, {{"sequences", 8}}, 101, {}, "source", "starts"},
           {"source_lengths", ElementType::I32, {{"sequences", 8}}, 17, {}, "source", "lengths"},
           {"token_scale", ElementType::F32, {{"", 1}}, 0}},
          {}};
}

TEST(RandomInputs, FillTheTokensWithSequences) {
  EntryInfo entry = evalEntry();
  for (int64_t sequences : {0, 1, 3, 7, 8, 100}) {
    auto inputs = randomInputs(entry, {.sequences = sequences});
    ASSERT_TRUE(inputs.ok()) << inputs.message();
    auto values = [&](size_t i) { return (*inputs)[i].tensor.values<int32_t>(); };
    auto source = values(0), positions = values(1), starts = values(2), lengths = values(3);
    // At least seven sequences of at most 16 tokens are needed for 100 tokens; there is room for eight.
    size_t count = sequences == 0 ? 7 : size_t(std::min<int64_t>(sequences, 8));
    ASSERT_EQ(starts.size(), count);
    ASSERT_EQ(lengths.size(), count);
    int32_t next = 0;
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ(starts[i], next);
      EXPECT_TRUE(lengths[i] >= 1 && lengths[i] <= 16) << lengths[i];
      for (int32_t place = 0; place < lengths[i]; ++place)
        EXPECT_EQ(positions[size_t(next + place)], place);
      next += lengths[i];
    }
    EXPECT_EQ(next, std::min<int32_t>(100, int32_t(16 * count)));
    EXPECT_EQ(source.size(), size_t(next));
    for (int32_t id : source)
      EXPECT_TRUE(id >= 0 && id < 50);
    float scale = (*inputs)[4].tensor.values<float>()[0];
    EXPECT_TRUE(scale > 0 && scale < 1e-2f) << scale;
  }
  auto values = [&](uint64_t seed) {
    auto inputs = randomInputs(entry, {.seed = seed});
    auto span = (*inputs)[0].tensor.values<int32_t>();
    return std::vector<int32_t>(span.begin(), span.end());
  };
  EXPECT_EQ(values(1), values(1));
  EXPECT_NE(values(1), values(2));
}

TEST(RandomInputs, SayWhereSequencesAreTooMany) {
  std::string said;
  setLogSink([&](LogLevel, std::string_view text) { said += text; });
  ASSERT_TRUE(randomInputs(evalEntry(), {.sequences = 8}).ok());
  EXPECT_EQ(said, "");
  ASSERT_TRUE(randomInputs(evalEntry(), {.sequences = 100}).ok());
  setLogSink({});
  EXPECT_EQ(said, "the entry 'eval' takes 8 sequences at most, and gets as many instead of 100");
}

// If a call holds fewer tokens than sequences, there are only as many sequences as tokens.
TEST(RandomInputs, FitWhereTokensAreFewerThanSequences) {
  for (int32_t longest : {1, 3}) {
    EntryInfo entry{"eval",
                    {{"source", ElementType::I32, {{"source_tokens", 4}}, 50},
                     {"source_starts", ElementType::I32, {{"sequences", 16}}, 5, {}, "source", "starts"},
                     {"source_lengths", ElementType::I32, {{"sequences", 16}}, longest + 1, {}, "source", "lengths"}},
                    {}};
    auto inputs = randomInputs(entry, {.sequences = 16});
    ASSERT_TRUE(inputs.ok()) << inputs.message();
    EXPECT_EQ((*inputs)[0].tensor.shape(), Shape{4});
    EXPECT_EQ((*inputs)[1].tensor.shape(), Shape{4});
  }
}

TEST(RandomInputs, FollowTheCacheOfADecodingStep) {
  EntryInfo entry{"decode_step",
                  {{"position", ElementType::I32, {{"sequences", 4}}, 16},
                   {"query_starts", ElementType::I32, {{"sequences", 4}}, 4, {}, "query", "starts"},
                   {"query_lengths", ElementType::I32, {{"sequences", 4}}, 2, {}, "query", "lengths"},
                   {"cache_rows", ElementType::I32, {{"sequences", 4}}, 60},
                   {"cache_starts", ElementType::I32, {{"sequences", 4}}, 61, {}, "cache", "starts"},
                   {"cache_lengths", ElementType::I32, {{"sequences", 4}}, 17, {}, "cache", "lengths"}},
                  {}};
  auto inputs = randomInputs(entry);
  ASSERT_TRUE(inputs.ok()) << inputs.message();
  auto values = [&](size_t i) { return (*inputs)[i].tensor.values<int32_t>(); };
  ASSERT_EQ(values(5).size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(values(1)[i], int32_t(i));
    EXPECT_EQ(values(2)[i], 1);
    EXPECT_EQ(values(0)[i], values(5)[i] - 1);
    EXPECT_EQ(values(3)[i], values(4)[i] + values(5)[i] - 1);
  }
  EXPECT_EQ(values(4)[3] + values(5)[3], 60);
}

// For inputs with other names than the models use, the entry's rows tell what they are.
TEST(RandomInputs, FollowTheRowsThatAnEntryTakes) {
  DimInfo tokens{"n", 64}, sequences{"s", 5}, longest{"l", 16};
  EntryInfo entry{"f",
                  {{"x", ElementType::F32, {tokens}},
                   {"at", ElementType::I32, {sequences}},
                   {"len", ElementType::I32, {sequences}, 0, longest},
                   {"table", ElementType::I32, {sequences, {"", 3}}},
                   {"z", ElementType::I32, {{"", 100}}}},
                  {},
                  {{{{"at", 0}}, {{"len", 0}}, tokens, "", {}},
                   {{{"", 0}}, {{"len", 0}}, longest, "", {}},
                   {{{"", 0}}, {{"", 3}}, {"", 3}, "table", tokens}}};
  auto inputs = randomInputs(entry);
  ASSERT_TRUE(inputs.ok()) << inputs.message();
  auto values = [&](size_t i) { return (*inputs)[i].tensor.values<int32_t>(); };
  int32_t next = 0;
  for (size_t i = 0; i < values(1).size(); ++i) {
    EXPECT_EQ(values(1)[i], next);
    EXPECT_TRUE(values(2)[i] >= 1 && values(2)[i] <= 16) << values(2)[i];
    next += values(2)[i];
  }
  EXPECT_GT(next, 16);
  EXPECT_EQ((*inputs)[0].tensor.shape(), Shape{next});
  for (int32_t row : values(3))
    EXPECT_TRUE(row >= 0 && row < next) << row;
  for (int32_t number : values(4))
    EXPECT_TRUE(number >= 1 && number <= 7) << number;
  std::string warning = warningOfBlind("f", *inputs);
  EXPECT_NE(warning.find("the numbers of 'z' may be"), std::string::npos) << warning;
}

// Lengths without a limit of their own are limited by a size of the entry.
TEST(RandomInputs, StayWithinTheLongestThereMayBe) {
  EntryInfo entry{"f",
                  {{"x", ElementType::F32, {{"q_tokens", 64}}},
                   {"q_starts", ElementType::I32, {{"s", 5}}},
                   {"q_lengths", ElementType::I32, {{"s", 5}}, 0, {"l", 16}}},
                  {}};
  auto inputs = randomInputs(entry);
  ASSERT_TRUE(inputs.ok()) << inputs.message();
  for (int32_t length : (*inputs)[2].tensor.values<int32_t>())
    EXPECT_TRUE(length >= 1 && length <= 16) << length;
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
