#include "runtime/text/WordPattern.h"

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
// o200k (GPT-4o, gpt-oss), Mistral's tekken, Qwen 3.5, Seed-Coder, and the steps of DeepSeek-Coder and of DeepSeek V3.
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

// Parses a pattern of the list above, which has no mistakes.
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

  // A character, a range of them, or a class.
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

// The end of the match of the items from `item` on, if they match at `begin`.
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
  std::vector<size_t> ends = {begin}; // of each number of characters
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

std::optional<WordPattern::Match> WordPattern::find(std::string_view text, size_t begin) const {
  for (; begin < text.size(); begin += firstCharacter(text.substr(begin)).bytes)
    for (const Sequence &sequence : alternatives)
      if (std::optional<size_t> end = match(text, begin, sequence, 0); end && *end > begin)
        return Match{begin, *end - begin};
  return std::nullopt;
}

} // namespace heddle
