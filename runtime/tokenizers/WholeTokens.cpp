#include "runtime/tokenizers/WholeTokens.h"

#include "runtime/text/Unicode.h"
#include "runtime/text/Utf8.h"

#include <algorithm>

namespace heddle {
namespace {

// The class \w of regular expressions.
bool isOfWord(char32_t point) {
  static const uint32_t kCategories = categoriesNamed("L") | categoriesNamed("M") | categoriesNamed("Nd") |
                                      categoriesNamed("Nl") | categoriesNamed("Pc");
  return (categoryBit(point) & kCategories) != 0 || point == U'\u200c' || point == U'\u200d' ||
         (point >= U'\u24b6' && point <= U'\u24e9');
}

bool beginsWithWord(std::string_view text) { return !text.empty() && isOfWord(firstCharacter(text).point); }

bool endsWithWord(std::string_view text) {
  for (size_t bytes = 1; bytes <= std::min<size_t>(text.size(), 4); ++bytes) {
    std::string_view last = text.substr(text.size() - bytes);
    if ((uint8_t(last[0]) & 0xc0) != 0x80) // the first byte of a character
      return isOfWord(firstCharacter(last).point);
  }
  return false;
}

} // namespace

void WholeTokens::add(std::string text, int32_t id, Blanks blanks) {
  begins[uint8_t(text.front())] = true;
  tokens.try_emplace(std::move(text), Token{id, blanks});
}

// Tokens are sorted by their bytes. Consider the last token that is not after `key`. If it is not a prefix of `key`, it
// shares a shorter prefix with it. No token that is a prefix of `key` is longer than that, so it becomes the next key.
WholeTokens::Tokens::const_iterator WholeTokens::longest(std::string_view text) const {
  for (std::string_view key = text; !key.empty();) {
    auto behind = tokens.upper_bound(key);
    if (behind == tokens.begin())
      break;
    auto token = std::prev(behind);
    if (key.starts_with(token->first))
      return token;
    key = key.substr(0, size_t(std::ranges::mismatch(key, token->first).in1 - key.begin()));
  }
  return tokens.end();
}

void WholeTokens::removeFrom(int32_t id) {
  std::erase_if(tokens, [&](const auto &token) { return token.second.id >= id; });
}

std::vector<TextPart> WholeTokens::cut(std::string_view text) const {
  std::vector<TextPart> parts;
  size_t begin = 0;
  auto end = [&](size_t place) {
    if (place > begin)
      parts.push_back({text.substr(begin, place - begin), {}});
  };
  for (size_t place = 0; place < text.size();) {
    auto token = begins[uint8_t(text[place])] ? longest(text.substr(place)) : tokens.end();
    if (token == tokens.end()) {
      ++place;
      continue;
    }
    const auto &[id, blanks] = token->second;
    size_t first = place, last = place + token->first.size();
    if (blanks.aroundWord && (endsWithWord(text.substr(0, first)) || beginsWithWord(text.substr(last)))) {
      place = last;
      continue;
    }
    if (blanks.before)
      first = begin + withoutTrailingSpace(text.substr(begin, place - begin)).size();
    if (blanks.behind)
      last = text.size() - withoutLeadingSpace(text.substr(last)).size();
    end(first);
    parts.push_back({text.substr(first, last - first), id});
    begin = place = last;
  }
  end(text.size());
  return parts;
}

} // namespace heddle
