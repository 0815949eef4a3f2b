#include "runtime/text/WholeTokens.h"

#include "runtime/text/Unicode.h"
#include "runtime/text/Utf8.h"

#include <algorithm>

namespace heddle {

void WholeTokens::add(std::string text, int32_t id, Blanks blanks) {
  std::vector<Token> &alike = tokens[uint8_t(text.front())];
  auto shorter = std::ranges::find_if(alike, [&](const Token &token) { return token.text.size() < text.size(); });
  alike.insert(shorter, {std::move(text), id, blanks});
}

std::vector<TextPart> WholeTokens::cut(std::string_view text) const {
  std::vector<TextPart> parts;
  size_t begin = 0;
  auto end = [&](size_t place) {
    if (place > begin)
      parts.push_back({text.substr(begin, place - begin), {}});
  };
  for (size_t place = 0; place < text.size();) {
    const std::vector<Token> &alike = tokens[uint8_t(text[place])];
    auto token =
        std::ranges::find_if(alike, [&](const Token &one) { return text.substr(place).starts_with(one.text); });
    if (token == alike.end()) {
      ++place;
      continue;
    }
    size_t first = place, last = place + token->text.size();
    if (token->blanks.before)
      first = begin + withoutTrailingSpace(text.substr(begin, place - begin)).size();
    if (token->blanks.behind)
      last = text.size() - withoutLeadingSpace(text.substr(last)).size();
    end(first);
    parts.push_back({text.substr(first, last - first), token->id});
    begin = place = last;
  }
  end(text.size());
  return parts;
}

} // namespace heddle
