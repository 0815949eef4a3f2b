#include "tools/numbers/NumberSplit.h"
#include "test/tools/TemporaryFolder.h"
#include "tools/numbers/NumberWords.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

using namespace heddle::numbers;
using heddle::test::TemporaryFolder;

namespace {

std::multiset<uint32_t> numbersOf(const std::vector<NumberText> &part) {
  std::multiset<uint32_t> numbers;
  for (const NumberText &text : part)
    numbers.insert(text.number);
  return numbers;
}

// How many numbers have one digit, two, three, ...
std::array<uint32_t, 6> byDigits(const std::vector<NumberText> &part) {
  std::array<uint32_t, 6> counts{};
  for (const NumberText &text : part)
    ++counts[std::to_string(text.number).size() - 1];
  return counts;
}

TEST(NumberSplit, HeldOutNumbersAreInNoOtherPart) {
  Split split = drawSplit({.train = 50'000, .valid = 300, .test = 300, .maximum = 5'999, .seed = 3});
  std::multiset<uint32_t> train = numbersOf(split.train), valid = numbersOf(split.valid), test = numbersOf(split.test);
  EXPECT_EQ(valid.size(), 300u);
  EXPECT_EQ(test.size(), 300u);
  for (const auto *part : {&valid, &test})
    for (uint32_t number : *part) {
      EXPECT_EQ(valid.count(number) + test.count(number), 1u) << number;
      EXPECT_EQ(train.count(number), 0u) << number;
      EXPECT_LE(number, 5'999u);
    }
  EXPECT_LE(*train.rbegin(), 5'999u);
}

// A text of a held-out number, in any writing, is no line of the training.
TEST(NumberSplit, HeldOutNumbersAreInNoTrainingText) {
  Split split = drawSplit({.train = 30'000});
  std::set<std::string> lines;
  for (const NumberText &text : split.train)
    lines.insert(text.english);
  for (const auto *part : {&split.valid, &split.test})
    for (const NumberText &text : *part)
      for (const std::vector<std::string> &way : englishWritings(text.number))
        for (const std::string &writing : way)
          EXPECT_FALSE(lines.contains(writing)) << writing;
}

TEST(NumberSplit, MagnitudesAreEven) {
  Split split = drawSplit({.train = 60'000});
  for (uint32_t count : byDigits(split.train))
    EXPECT_NEAR(count, 10'000, 500);
  // A sixth of 72 numbers of two digits, and what is missing there in equal parts from the rest.
  for (const auto *part : {&split.valid, &split.test}) {
    std::array<uint32_t, 6> counts = byDigits(*part);
    EXPECT_EQ(counts[0], 0u);
    EXPECT_EQ(counts[1], 12u);
    for (size_t digits : {3, 4, 5, 6})
      EXPECT_EQ(counts[digits - 1], 122u) << digits;
  }
}

TEST(NumberSplit, EveryWordIsTrained) {
  std::multiset<uint32_t> train = numbersOf(drawSplit({.train = 20'000, .seed = 5}).train);
  for (uint32_t number = 0; number <= 20; ++number)
    EXPECT_NE(train.count(number), 0u) << number;
  for (uint32_t number = 30; number <= 90; number += 10)
    EXPECT_NE(train.count(number), 0u) << number;
}

TEST(NumberSplit, EveryWayOfWritingIsDrawn) {
  Split split = drawSplit({.train = 40'000});
  auto count = [&](std::string_view words) {
    return std::ranges::count_if(split.train,
                                 [&](const NumberText &text) { return text.english.find(words) != std::string::npos; });
  };
  EXPECT_NEAR(count(" and "), 12'000, 2'000);
  EXPECT_GT(count("a hundred"), 500);
  EXPECT_GT(count("a thousand"), 100);
  EXPECT_GT(count("teen hundred"), 100);
  EXPECT_GT(count(" oh "), 300);
  EXPECT_GT(count("twenty-"), 1'000);
  EXPECT_GT(count("twenty one"), 100);
}

TEST(NumberSplit, SeedsDecide) {
  SplitOptions options{.train = 50, .valid = 5, .test = 5, .seed = 9};
  auto lines = [](const SplitOptions &options) {
    std::vector<std::string> lines;
    for (const NumberText &text : drawSplit(options).train)
      lines.push_back(text.english);
    return lines;
  };
  EXPECT_EQ(lines(options), lines(options));
  SplitOptions other = options;
  other.seed = 10;
  EXPECT_NE(lines(options), lines(other));
}

TEST(NumberSplit, WritesTheFiles) {
  TemporaryFolder folder;
  SplitOptions options{.directory = (folder.path() / "data").string(), .train = 30, .valid = 2, .test = 3};
  ASSERT_EQ(writeSplit(options), "");
  Split split = drawSplit(options);
  std::string english, german;
  for (const NumberText &text : split.train) {
    english += text.english + "\n";
    german += spellGerman(text.number) + "\n";
  }
  EXPECT_EQ(folder.read("data/train.en"), english);
  EXPECT_EQ(folder.read("data/train.de"), german);
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "data/test.de"));
}

TEST(NumberSplit, HoldsOutASixth) {
  EXPECT_EQ(largestHeldOut(0), 0u);
  EXPECT_EQ(largestHeldOut(99), 12u);
  EXPECT_EQ(largestHeldOut(999), 162u);
  EXPECT_EQ(drawSplit({.train = 9, .valid = 162, .test = 162, .maximum = 999}).test.size(), 162u);
  std::string problem = writeSplit({.directory = "unused", .train = 90, .valid = 12, .test = 13, .maximum = 99});
  EXPECT_NE(problem.find("--test asks for 13 numbers, but of 0 to 99 only 12"), std::string::npos) << problem;
}

} // namespace
