#include "tools/numbers/NumberSplit.h"
#include "test/tools/TemporaryFolder.h"
#include "tools/numbers/NumberWords.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

using namespace heddle::numbers;
using heddle::test::TemporaryFolder;

namespace {

TEST(NumberSplit, PartsAreDisjoint) {
  Split split = drawSplit({.train = 5'000, .valid = 300, .test = 700, .maximum = 5'999, .seed = 3});
  std::set<uint32_t> all;
  for (const auto *part : {&split.train, &split.valid, &split.test})
    all.insert(part->begin(), part->end());
  // All 6000 numbers are asked for, so the parts are disjoint exactly where all of them are there.
  EXPECT_EQ(all.size(), 6'000u);
  EXPECT_EQ(*all.rbegin(), 5'999u);
}

TEST(NumberSplit, SeedsDecide) {
  SplitOptions options{.train = 50, .valid = 5, .test = 5, .seed = 9};
  EXPECT_EQ(drawSplit(options).train, drawSplit(options).train);
  SplitOptions other = options;
  other.seed = 10;
  EXPECT_NE(drawSplit(options).train, drawSplit(other).train);
}

TEST(NumberSplit, DrawIsUniform) {
  Split split = drawSplit({.train = 50'000, .seed = 1});
  std::array<int, 10> tenths{};
  for (uint32_t number : split.train)
    ++tenths[number / 100'000];
  for (int count : tenths)
    EXPECT_NEAR(count, 5'000, 400);
}

TEST(NumberSplit, WritesTheFiles) {
  TemporaryFolder folder;
  SplitOptions options{.directory = (folder.path() / "data").string(), .train = 30, .valid = 2, .test = 3};
  ASSERT_EQ(writeSplit(options), "");
  Split split = drawSplit(options);
  std::string english, german;
  for (uint32_t number : split.train) {
    english += spellEnglish(number) + "\n";
    german += spellGerman(number) + "\n";
  }
  EXPECT_EQ(folder.read("data/train.en"), english);
  EXPECT_EQ(folder.read("data/train.de"), german);
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "data/test.de"));
}

TEST(NumberSplit, RefusesMoreThanThereIs) {
  std::string problem = writeSplit({.directory = "unused", .train = 90, .valid = 10, .test = 1, .maximum = 99});
  EXPECT_NE(problem.find("101 different numbers"), std::string::npos) << problem;
}

} // namespace
