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
      "\x80"sv,             // a continuation alone
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
  EXPECT_EQ(replaceInvalidUtf8("a\xe2\x82"), "a\ufffd\ufffd");
}

TEST(Utf8, Blank) {
  EXPECT_TRUE(isBlank(""));
  EXPECT_TRUE(isBlank(" \t\r"));
  EXPECT_FALSE(isBlank(" a "));
}

} // namespace
