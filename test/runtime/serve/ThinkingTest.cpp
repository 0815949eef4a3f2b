#include "runtime/serve/Thinking.h"

#include <gtest/gtest.h>

using heddle::serve::Thinking;

namespace {

// Splits the text, at once and byte by byte, and returns "thought|answer".
std::string split(const std::string &text, bool isOpen = false) {
  Thinking whole(isOpen), bytes(isOpen);
  Thinking::Parts parts = whole.finish(text);
  Thinking::Parts sum;
  for (char byte : text) {
    Thinking::Parts more = bytes.add(std::string(1, byte));
    sum.thought += more.thought;
    sum.answer += more.answer;
  }
  Thinking::Parts last = bytes.finish("");
  EXPECT_EQ(sum.thought + last.thought, parts.thought);
  EXPECT_EQ(sum.answer + last.answer, parts.answer);
  return parts.thought + "|" + parts.answer;
}

TEST(Thinking, ThoughtsAreNoAnswers) {
  EXPECT_EQ(split("<think>so</think>\n\nyes"), "so|yes");
  EXPECT_EQ(split("\n<think>a < b</thin</think>yes"), "a < b</thin|yes");
  EXPECT_EQ(split("so</think>yes", true), "so|yes");
  EXPECT_EQ(split("plain <think>text</think>"), "|plain <think>text</think>");
  EXPECT_EQ(split("<thinking> is fine"), "|<thinking> is fine");
  EXPECT_EQ(split("<think>cut off</th"), "cut off</th|");
  EXPECT_EQ(split("<thi"), "|<thi");
  EXPECT_EQ(split(""), "|");
}

} // namespace
