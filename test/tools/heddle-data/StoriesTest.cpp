#include "tools/heddle-data/Stories.h"

#include <gtest/gtest.h>

#include <set>

using namespace heddle;
using namespace heddle::demo;

namespace {

TEST(StoryTest, DrawnStoriesAreRight) {
  SplitMix64 random(3);
  std::set<bool> given, liked, sized;
  for (int i = 0; i < 2000; ++i) {
    Story story = drawStory(random, i % 2 == 0);
    EXPECT_EQ(story.isHeldOut(), i % 2 == 0);
    std::string present = story.beginning() + story.continuation(Style::Present),
                past = story.beginning() + story.continuation(Style::Past);
    EXPECT_TRUE(isRight(present, Style::Present)) << present;
    EXPECT_TRUE(isRight(past, Style::Past)) << past;
    EXPECT_FALSE(isRight(present, Style::Past)) << present;
    EXPECT_FALSE(isRight(past, Style::Present)) << past;
    given.insert(story.isGiven);
    liked.insert(story.isLiked);
    sized.insert(story.tellsSize);
  }
  EXPECT_EQ(given.size() + liked.size() + sized.size(), 6u);
}

TEST(StoryTest, AStoryAgreesWithItself) {
  const char *right =
      "Tom has a red ball. The red ball is big. Tom goes to the park. There Tom meets Ann. Ann likes the red ball. "
      "Tom gives the red ball to Ann. Now Ann has the red ball.";
  EXPECT_TRUE(isRight(right, Style::Present));
  EXPECT_TRUE(isRight(
      "Tom has a red ball. Tom went to the park. There Tom met Ann. Tom hid the red ball. Then Tom had the red ball.",
      Style::Past));
  for (auto [before, after] : {std::pair("Now Ann has", "Now Tom has"),
                               {"Now Ann has the red", "Now Ann has the blue"},
                               {"The red ball is big. ", "The red hat is big. "},
                               {"meets Ann", "meets Tom"},
                               {"to the park", "to the moon"},
                               {"the red ball.", "the red ball. Tom"},
                               {"There Tom", "There Ann"},
                               {"Tom has", "Tim has"},
                               {"gives", "gave"},
                               {"Now Ann has the red ball.", ""}}) {
    std::string text = right;
    text.replace(text.rfind(before), std::string(before).size(), after);
    EXPECT_FALSE(isRight(text, Style::Present)) << text;
  }
  EXPECT_FALSE(isRight("", Style::Present));
}

} // namespace
