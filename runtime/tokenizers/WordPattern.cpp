#include "runtime/tokenizers/WordPattern.h"

#include "runtime/text/Unicode.h"
#include "runtime/text/Utf8.h"

#include <algorithm>
#include <cctype>

namespace heddle {
namespace {

struct Published {
  WordPattern::Family family;
  std::string_view pattern;
};
// o200k (GPT-4o, gpt-oss), Mistral's tekken, Qwen 3.5, Seed-Coder, BLOOM, and the steps of Viking, DeepSeek LLM (its
// first class has the cased letters of Unicode 12), DeepSeek-Coder and DeepSeek V3.
constexpr Published kPublished[] = {
    {WordPattern::Family::O200k,
     R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
     R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
     R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
    {WordPattern::Family::Tekken, R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
                                  R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|)"
                                  R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
    {WordPattern::Family::Qwen35,
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|)"
     R"(\s*[\r\n]+|\s+(?!\S)|\s+)"},
    {WordPattern::Family::SeedCoder, R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^)"
                                     "\r\n"
                                     R"(\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N})"
                                     "\r\n"
                                     R"(]+|\s*[)"
                                     "\r\n"
                                     R"(]+|\s+(?!\S)|\s+)"},
    {WordPattern::Family::Bloom, " ?[^(\\s|.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)]+"},
    {WordPattern::Family::Viking, " ?[^(\\s|.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)]+"},
    {WordPattern::Family::Viking, R"(\p{N})"},
    {WordPattern::Family::DeepSeekLLM, "[\r\n]"},
    {WordPattern::Family::DeepSeekLLM,
     "\\s?[A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf\u01c4-\u0293\u0295-\u02af"
     "\u0370-\u0373\u0376\u0377\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03f5"
     "\u03f7-\u0481\u048a-\u052f\u0531-\u0556\u10a0-\u10c5\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba"
     "\u1cbd-\u1cbf\u1d00-\u1d2b\u1d6b-\u1d77\u1d79-\u1d9a\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45"
     "\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b\u1f5d\u1f5f-\u1f7d\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-"
     "\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc\u2102\u2107"
     "\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139\u213c-\u213f"
     "\u2145-\u2149\u214e\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4\u2ceb-\u2cee\u2cf2\u2cf3\ua640-\ua66d"
     "\ua680-\ua69b\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e\uab70-\uabbf\ufb00-\ufb06\ufb13-\ufb17"
     "\uff21-\uff3a\uff41-\uff5a\U00010400-\U0001044f\U000104b0-\U000104d3\U000104d8-\U000104fb"
     "\U00010c80-\U00010cb2\U00010cc0-\U00010cf2\U000118a0-\U000118df\U0001e900-\U0001e943]+"},
    {WordPattern::Family::DeepSeekLLM, "\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+"},
    {WordPattern::Family::DeepSeekLLM, R"(\s+$)"},
    {WordPattern::Family::DeepSeekLLM, "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"},
    {WordPattern::Family::DeepSeekLLM, R"(\p{N}+)"},
    {WordPattern::Family::DeepSeekCoder, "[\r\n]"},
    {WordPattern::Family::DeepSeekCoder, R"(\s?\p{L}+)"},
    {WordPattern::Family::DeepSeekCoder, R"(\s?\p{P}+)"},
    {WordPattern::Family::DeepSeekCoder, "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"},
    {WordPattern::Family::DeepSeekCoder, R"(\p{N})"},
    {WordPattern::Family::DeepSeekV3, R"(\p{N}{1,3})"},
    {WordPattern::Family::DeepSeekV3, "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"},
    {WordPattern::Family::DeepSeekV3, R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^)"
                                      "\r\n"
                                      R"(\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[)"
                                      "\r\n"
                                      R"(]*|\s*[)"
                                      "\r\n"
                                      R"(]+|\s+(?!\S)|\s+)"},
};

} // namespace

// Parses a pattern of the list above. These patterns are known to be valid.
class WordPattern::Parser {
public:
  explicit Parser(std::string_view pattern) : rest(pattern) {}

  std::vector<Sequence> alternatives() {
    std::vector<Sequence> all(1);
    while (!rest.empty())
      if (take("|"))
        all.emplace_back();
      else
        all.back().push_back(item());
    return all;
  }

private:
  bool take(std::string_view text) {
    if (!rest.starts_with(text))
      return false;
    rest.remove_prefix(text.size());
    return true;
  }
  char32_t character() {
    Character next = firstCharacter(rest);
    rest.remove_prefix(next.bytes);
    return next.point;
  }

  Item item() {
    Item item;
    if (take("(?!")) {
      item.isForbidden = true;
      addOne(item.set);
      take(")");
    } else if (take("$")) { // no character follows
      item.isForbidden = item.set.isNegated = true;
    } else if (take("(?i:")) {
      for (item.texts.emplace_back(); !take(")");)
        if (take("|"))
          item.texts.emplace_back();
        else
          item.texts.back() += char(character());
    } else if (take("[")) {
      item.set.isNegated = take("^");
      while (!take("]"))
        addOne(item.set);
    } else {
      addOne(item.set);
    }
    quantify(item);
    return item;
  }

  // Parses a character, a range of characters, or a class.
  void addOne(Class &set) {
    if (take("\\p{")) {
      size_t end = rest.find('}');
      set.categories |= categoriesNamed(rest.substr(0, end));
      rest.remove_prefix(end + 1);
    } else if (take("\\s")) {
      set.spaces = true;
    } else if (take("\\S")) {
      set.notSpaces = true;
    } else {
      char32_t first = take("\\r") ? U'\r' : take("\\n") ? U'\n' : (take("\\"), character());
      char32_t last = rest.size() > 1 && rest[0] == '-' && rest[1] != ']' && take("-") ? character() : first;
      set.ranges.emplace_back(first, last);
    }
  }

  void quantify(Item &item) {
    if (take("?")) {
      item.fewest = 0;
    } else if (take("*")) {
      item.fewest = 0;
      item.most = std::string_view::npos;
    } else if (take("+")) {
      item.most = std::string_view::npos;
    } else if (take("{1,3}")) {
      item.most = 3;
    } else {
      take("{1}");
    }
  }

  std::string_view rest;
};

WordPattern WordPattern::parsed(std::string_view pattern) {
  WordPattern result;
  result.alternatives = Parser(pattern).alternatives();
  return result;
}

std::vector<WordPattern> WordPattern::of(Family family) {
  std::vector<WordPattern> steps;
  for (const auto &[whose, pattern] : kPublished)
    if (whose == family)
      steps.push_back(parsed(pattern));
  return steps;
}

std::optional<WordPattern> WordPattern::published(std::string_view pattern) {
  bool isKnown = std::ranges::any_of(kPublished, [&](const Published &known) { return known.pattern == pattern; });
  return isKnown ? std::optional(parsed(pattern)) : std::nullopt;
}

bool WordPattern::Class::has(char32_t point) const {
  bool isIn = (categories & categoryBit(point)) != 0 || (spaces && isWhiteSpace(point)) ||
              (notSpaces && !isWhiteSpace(point)) ||
              std::ranges::any_of(ranges, [&](auto range) { return point >= range.first && point <= range.second; });
  return isIn != isNegated;
}

// Matches the items from `item` on at `begin`. Returns the end of the match, if there is one.
std::optional<size_t> WordPattern::match(std::string_view text, size_t begin, const Sequence &sequence, size_t item) {
  if (item == sequence.size())
    return begin;
  const auto &[set, texts, fewest, most, isForbidden] = sequence[item];
  if (isForbidden) {
    if (begin < text.size() && set.has(firstCharacter(text.substr(begin)).point))
      return std::nullopt;
    return match(text, begin, sequence, item + 1);
  }
  if (!texts.empty()) {
    auto isSame = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
    for (const std::string &one : texts)
      if (std::ranges::equal(text.substr(begin, one.size()), one, isSame))
        if (std::optional<size_t> end = match(text, begin + one.size(), sequence, item + 1))
          return end;
    return fewest == 0 ? match(text, begin, sequence, item + 1) : std::nullopt;
  }
  std::vector<size_t> ends = {begin}; // the end after each number of characters
  while (ends.size() <= most && ends.back() < text.size()) {
    Character next = firstCharacter(text.substr(ends.back()));
    if (!set.has(next.point))
      break;
    ends.push_back(ends.back() + next.bytes);
  }
  for (; ends.size() > fewest; ends.pop_back())
    if (std::optional<size_t> whole = match(text, ends.back(), sequence, item + 1))
      return whole;
  return std::nullopt;
}

// If a pattern such as \s+$ does not match at `begin`, returns where it may match next. It cannot match within the same
// run of its class, because the same character follows the run. Without this, searching a long run takes quadratic
// time.
size_t WordPattern::behindRun(std::string_view text, size_t begin, const Sequence &sequence) {
  if (sequence.size() != 2 || !sequence[1].isForbidden || !sequence[1].set.isAll() || !sequence[0].texts.empty() ||
      sequence[0].most != std::string_view::npos)
    return begin;
  while (begin < text.size()) {
    Character next = firstCharacter(text.substr(begin));
    if (!sequence[0].set.has(next.point))
      break;
    begin += next.bytes;
  }
  return begin;
}

std::optional<WordPattern::Match> WordPattern::find(std::string_view text, size_t begin) const {
  std::vector<size_t> next(alternatives.size()); // where each alternative may match next
  for (; begin < text.size(); begin += firstCharacter(text.substr(begin)).bytes)
    for (size_t i = 0; i < alternatives.size(); ++i) {
      if (begin < next[i])
        continue;
      if (std::optional<size_t> end = match(text, begin, alternatives[i], 0); end && *end > begin)
        return Match{begin, *end - begin};
      next[i] = behindRun(text, begin, alternatives[i]);
    }
  return std::nullopt;
}

} // namespace heddle
