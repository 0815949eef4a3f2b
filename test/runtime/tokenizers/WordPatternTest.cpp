#include "runtime/tokenizers/TextCutter.h"

#include <gtest/gtest.h>

#include <ctime>

using namespace heddle;

namespace {

constexpr const char *kO200k =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char *kTekken = R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
                                R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|)"
                                R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char *kQwen35 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|)"
    R"(\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char *kDeepSeek[] = {
    R"(\p{N}{1,3})", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|"
    " ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"};

std::string words(std::vector<WordPattern> steps, std::string_view text) {
  TextCutter cutter;
  for (WordPattern &step : steps)
    cutter.add(std::move(step));
  std::string all;
  cutter.cut(text, TextCutter::Place::Begin,
             [&](std::string_view word) { all.append(all.empty() ? "" : "|").append(word); });
  return all;
}

std::vector<WordPattern> parsed(const std::vector<const char *> &patterns) {
  std::vector<WordPattern> steps;
  for (const char *pattern : patterns)
    steps.push_back(std::move(WordPattern::published(pattern)).value());
  return steps;
}

std::string words(const std::vector<const char *> &patterns, std::string_view text) {
  return words(parsed(patterns), text);
}

// Cuts as Hugging Face's tokenizers do.
TEST(WordPattern, Published) {
  const char *english = "Hello camelCaseWords, don't SHOUT'S 12345!";
  const char *other = "a\u0301b \u4fa1\u683c\u306f1234\u5186 //x\n\n  y";
  std::vector<const char *> deepSeek(std::begin(kDeepSeek), std::end(kDeepSeek));
  EXPECT_EQ(words(deepSeek, english), "Hello| camelCaseWords|,| don|'t| SHOUT|'S| |123|45|!");
  EXPECT_EQ(words(deepSeek, other), "a\u0301b| |\u4fa1\u683c\u306f|123|4|\u5186| //|x|\n\n| | y");
  EXPECT_EQ(words({kO200k}, english), "Hello| camel|Case|Words|,| don't| SHOUT'S| |123|45|!");
  EXPECT_EQ(words({kO200k}, other), "a\u0301b| \u4fa1\u683c\u306f|123|4|\u5186| //|x|\n\n| | y");
  EXPECT_EQ(words({kTekken}, english), "Hello| camel|Case|Words|,| don|'t| SHOUT|'S| |1|2|3|4|5|!");
  EXPECT_EQ(words({kQwen35}, english), "Hello| camelCaseWords|,| don|'t| SHOUT|'S| |1|2|3|4|5|!");
  EXPECT_EQ(words({kQwen35}, other), "a\u0301b| \u4fa1\u683c\u306f|1|2|3|4|\u5186| //|x|\n\n| | y");
}

// Cuts as Hugging Face's tokenizers do. The class of punctuation includes letters: ASCII's lie between ':' and '~'.
TEST(WordPattern, StepsOfGgufFiles) {
  const char *english = "Hello camelCaseWords, don't SHOUT'S 12345!";
  const char *other = "a\u0301b \u4fa1\u683c\u306f1234\u5186 //x\n\n  y";
  const char *spaces = "5   7  \u01bb\u0294 \u00e9t\u00e9  \n(x|y) \u3042\u3002  ";
  auto cut = [](WordPattern::Family family, const char *text) { return words(WordPattern::of(family), text); };
  using enum WordPattern::Family;
  EXPECT_EQ(cut(DeepSeekLLM, english), "Hello| camelCaseWords|,| don|'|t| SHOUT|'|S| |12345|!");
  EXPECT_EQ(cut(DeepSeekLLM, other), "a|\u0301|b| |\u4fa1\u683c\u306f|1234|\u5186| //|x|\n|\n| | y");
  EXPECT_EQ(cut(DeepSeekLLM, spaces), "5|   |7|  \u01bb\u0294| \u00e9|t|\u00e9|  |\n|(|x|||y|)| |\u3042|\u3002|  ");
  EXPECT_EQ(cut(Bloom, english), "Hello| camelCaseWords|,| don't| SHOUT'S| 12345|!");
  EXPECT_EQ(cut(Bloom, spaces), "5|  | 7| | \u01bb\u0294| \u00e9t\u00e9|  \n(|x|||y|)| \u3042|\u3002  ");
  EXPECT_EQ(cut(Viking, english), "Hello| camelCaseWords|,| don't| SHOUT'S| |1|2|3|4|5|!");
  EXPECT_EQ(cut(Viking, other), "a\u0301b| \u4fa1\u683c\u306f|1|2|3|4|\u5186| //x|\n\n | y");
}

TEST(WordPattern, OtherPatternsAreRefused) {
  for (const char *pattern : {"", "(a+)+b", R"(\p{N}{1,4})", R"(\s*\s*\s*\s*x)"})
    EXPECT_FALSE(WordPattern::published(pattern)) << pattern;
}

// Bytes that are not text are cut, too, and none are lost. Runs take linear time.
TEST(WordPattern, AnyBytes) {
  std::vector<const char *> deepSeek(std::begin(kDeepSeek), std::end(kDeepSeek));
  for (const std::vector<WordPattern> &patterns :
       {parsed(deepSeek), parsed({kO200k}), parsed({kTekken}), parsed({kQwen35}),
        WordPattern::of(WordPattern::Family::DeepSeekLLM), WordPattern::of(WordPattern::Family::Viking)}) {
    for (std::string_view text : {"a\xff\xfe b\xc3", "\xe4\xb8", "\x80\x80 \n\xf0\x9f"}) {
      std::string cut = words(patterns, text);
      std::erase(cut, '|');
      EXPECT_EQ(cut, text);
    }
    std::clock_t begin = std::clock();
    for (const char *run : {"A", "a", " ", "\n", "1", "\u4e00", "!", "\u0301", " \n"}) {
      std::string text;
      while (text.size() < 40'000)
        text += run;
      words(patterns, text + "x");
    }
    EXPECT_LT(double(std::clock() - begin) / CLOCKS_PER_SEC, 3);
  }
}

} // namespace
