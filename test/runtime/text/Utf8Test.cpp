#include "runtime/text/Utf8.h"

#include <gtest/gtest.h>

using namespace heddle;
using namespace std::string_view_literals;

namespace {

TEST(Utf8, Valid) {
  for (std::string_view text :
       {""sv, "dreißig"sv, "\u0800\uffff"sv, "\U00010000\U0010ffff"sv, "\0"sv, "\ud7ff\ue000"sv})
    EXPECT_TRUE(isValidUtf8(text)) << text;
}

TEST(Utf8, Invalid) {
  const std::string_view cases[] = {
      "\x80"sv,             // a continuation byte without a start
      "\xc3"sv,             // cut off
      "\xc0\xaf"sv,         // overlong
      "\xe0\x9f\xbf"sv,     // overlong
      "\xf0\x8f\xbf\xbf"sv, // overlong
      "\xed\xa0\x80"sv,     // a surrogate
      "\xf4\x90\x80\x80"sv, // past U+10FFFF
      "\xff"sv,
      "ab\xe4 cd"sv, // Latin-1
      "\xe2\x82"sv,
  };
  for (std::string_view text : cases)
    EXPECT_FALSE(isValidUtf8(text));
}

TEST(Utf8, Replace) {
  EXPECT_EQ(replaceInvalidUtf8("f\xfcnf"), "f\ufffdnf");
  EXPECT_EQ(replaceInvalidUtf8("dreißig"), "dreißig");
}

// A truncated character becomes one mark; each byte that begins no character becomes one mark.
TEST(Utf8, ReplaceCutCharacters) {
  EXPECT_EQ(replaceInvalidUtf8("a\xe2\x82"), "a\ufffd");
  EXPECT_EQ(replaceInvalidUtf8("a\xf0\x9f\x98"), "a\ufffd") << "three of four bytes";
  EXPECT_EQ(replaceInvalidUtf8("\xf0\x9f\x98"
                               "b\xc3"),
            "\ufffd"
            "b\ufffd");
  EXPECT_EQ(replaceInvalidUtf8("\xf0\x9f\xf0\x9f\x98\x80"), "\ufffd\U0001f600");
  EXPECT_EQ(replaceInvalidUtf8("\x9f\x98\x80"), "\ufffd\ufffd\ufffd") << "none is a beginning";
  EXPECT_EQ(replaceInvalidUtf8("\xe0\x9f\xbf"), "\ufffd\ufffd\ufffd") << "overlong: E0 begins no character with 9F";
  EXPECT_EQ(replaceInvalidUtf8("\xed\xa0\x80"), "\ufffd\ufffd\ufffd") << "a surrogate";
  EXPECT_EQ(replaceInvalidUtf8("\xf4\x90\x80\x80"), "\ufffd\ufffd\ufffd\ufffd") << "past U+10FFFF";
}

TEST(Utf8, Blank) {
  EXPECT_TRUE(isBlank(""));
  EXPECT_TRUE(isBlank(" \t\r"));
  EXPECT_TRUE(isBlank("\n")); // a JSON string may have it
  EXPECT_FALSE(isBlank(" a "));
}

} // namespace
