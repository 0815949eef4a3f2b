#include "tools/heddle-data/Numbers.h"
#include "tools/heddle-data/NumberWords.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

using namespace heddle::demo;

namespace {

std::multiset<uint32_t> numbersOf(const std::vector<NumberText> &part) {
  std::multiset<uint32_t> numbers;
  for (const NumberText &text : part)
    numbers.insert(text.number);
  return numbers;
}

// Counts the numbers with one digit, two, three, ...
std::array<uint32_t, 6> byDigits(const std::vector<NumberText> &part) {
  std::array<uint32_t, 6> counts{};
  for (const NumberText &text : part)
    ++counts[std::to_string(text.number).size() - 1];
  return counts;
}

TEST(Numbers, HeldOutNumbersAreInNoOtherPart) {
  NumberSplit split = drawNumbers({.train = 50'000, .valid = 300, .test = 300, .maximum = 5'999, .seed = 3});
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

// No writing of a held-out number occurs in the training text.
TEST(Numbers, HeldOutNumbersAreInNoTrainingText) {
  NumberSplit split = drawNumbers({.train = 30'000});
  std::set<std::string> lines;
  for (const NumberText &text : split.train)
    lines.insert(text.english);
  for (const auto *part : {&split.valid, &split.test})
    for (const NumberText &text : *part)
      for (const std::vector<std::string> &way : englishWritings(text.number))
        for (const std::string &writing : way)
          EXPECT_FALSE(lines.contains(writing)) << writing;
}

TEST(Numbers, MagnitudesAreEven) {
  NumberSplit split = drawNumbers({.train = 60'000});
  for (uint32_t count : byDigits(split.train))
    EXPECT_NEAR(count, 10'000, 500);
  for (const auto *part : {&split.valid, &split.test})
    EXPECT_EQ(byDigits(*part), (std::array<uint32_t, 6>{0, 0, 125, 125, 125, 125}));
}

TEST(Numbers, WhatReadersTryFirstIsTrained) {
  std::multiset<uint32_t> train = numbersOf(drawNumbers({.train = 40'000, .seed = 5}).train);
  for (uint32_t number = 0; number < 100; ++number)
    EXPECT_NE(train.count(number), 0u) << number;
  for (uint32_t unit : {100, 1'000, 10'000, 100'000})
    for (uint32_t number = unit; number < 10 * unit; number += unit)
      EXPECT_NE(train.count(number), 0u) << number;
}

// Among all five-digit numbers, only 4 in 1,000 have at most two non-zero digits.
TEST(Numbers, NumbersWithZerosAreTrained) {
  NumberSplit split = drawNumbers({.train = 60'000});
  auto significant = [](uint32_t number) {
    return std::ranges::count_if(std::to_string(number), [](char c) { return c != '0'; });
  };
  auto count = std::ranges::count_if(
      split.train, [&](const NumberText &text) { return text.number >= 10'000 && significant(text.number) <= 2; });
  EXPECT_GT(count, 1'000);
}

TEST(Numbers, EveryWayOfWritingIsDrawn) {
  NumberSplit split = drawNumbers({.train = 40'000});
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

TEST(Numbers, SeedsDecide) {
  NumberOptions options{.train = 50, .valid = 5, .test = 5, .seed = 9};
  auto lines = [](const NumberOptions &options) {
    std::vector<std::string> lines;
    for (const NumberText &text : drawNumbers(options).train)
      lines.push_back(text.english);
    return lines;
  };
  EXPECT_EQ(lines(options), lines(options));
  NumberOptions other = options;
  other.seed = 10;
  EXPECT_NE(lines(options), lines(other));
}

TEST(Numbers, FilesArePairsOfLanguages) {
  NumberOptions options{.train = 30, .valid = 2, .test = 3};
  DataFiles files = numberFiles(options).value();
  NumberSplit split = drawNumbers(options);
  std::string english, german;
  for (const NumberText &text : split.train) {
    english += text.english + "\n";
    german += spellGerman(text.number) + "\n";
  }
  ASSERT_EQ(files.size(), 6u);
  EXPECT_EQ(files[0], std::pair(std::string("train.en"), english));
  EXPECT_EQ(files[1], std::pair(std::string("train.de"), german));
  EXPECT_EQ(files[5].first, "test.de");
}

TEST(Numbers, HoldsOutASixth) {
  EXPECT_EQ(largestHeldOut(99), 0u);
  EXPECT_EQ(largestHeldOut(999), 148u); // of 900 numbers, 9 of them whole hundreds
  EXPECT_EQ(drawNumbers({.train = 9, .valid = 148, .test = 148, .maximum = 999}).test.size(), 148u);
  std::string problem = numberFiles({.train = 90, .valid = 148, .test = 149, .maximum = 999}).message();
  EXPECT_NE(problem.find("--test asks for 149 numbers, but of 0 to 999 only 148"), std::string::npos) << problem;
}

} // namespace
