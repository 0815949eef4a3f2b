#include "runtime/text/Words.h"

#include "runtime/text/Unicode.h"
#include "runtime/text/Utf8.h"

#include <algorithm>
#include <cctype>

namespace heddle {
namespace {

enum class Kind { Letter, Number, Space, Other };

Kind kindOf(char32_t point) {
  return isLetter(point)       ? Kind::Letter
         : isNumber(point)     ? Kind::Number
         : isWhiteSpace(point) ? Kind::Space
                               : Kind::Other;
}

Kind kindAt(std::string_view text) { return kindOf(firstCharacter(text).point); }

// The length in bytes of the contraction at the beginning of the text; 0 if there is none.
size_t contractionBytes(std::string_view text, bool anyCase) {
  auto isSame = [&](char a, char b) { return a == b || (anyCase && std::tolower(static_cast<unsigned char>(a)) == b); };
  for (std::string_view contraction : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
    if (text.size() >= contraction.size() &&
        std::equal(contraction.begin(), contraction.end(), text.begin(), [&](char b, char a) { return isSame(a, b); }))
      return contraction.size();
  return 0;
}

// The end of a run of at most `most` characters of a kind that starts at byte `begin`.
size_t endOfRun(std::string_view text, size_t begin, Kind kind, size_t most = std::string_view::npos) {
  for (; begin < text.size() && most > 0; --most) {
    Character next = firstCharacter(text.substr(begin));
    if (kindOf(next.point) != kind)
      break;
    begin += next.bytes;
  }
  return begin;
}

// The length of a run of white space without its last character, which belongs to the next word. The whole run if the
// text ends after it or if it is a single character. With `cutsNumbers`, a following number is like the text's end.
size_t spaceBytes(std::string_view text, bool cutsNumbers = false) {
  size_t end = endOfRun(text, 0, Kind::Space), last = 0;
  if (end == text.size() || (cutsNumbers && kindAt(text.substr(end)) == Kind::Number))
    return end;
  for (size_t place = 0; place < end; place += firstCharacter(text.substr(place)).bytes)
    last = place;
  return last == 0 ? end : last;
}

size_t gpt2Bytes(std::string_view text, bool cutsNumbers) {
  if (size_t contraction = contractionBytes(text, /*anyCase=*/false))
    return contraction;
  Kind behind = text.size() > 1 ? kindAt(text.substr(1)) : Kind::Space;
  size_t space = text[0] == ' ' && behind != Kind::Space && !(cutsNumbers && behind == Kind::Number) ? 1 : 0;
  Kind kind = kindAt(text.substr(space));
  if (kind == Kind::Space)
    return spaceBytes(text, cutsNumbers);
  return endOfRun(text, space, kind, cutsNumbers && kind == Kind::Number ? 1 : std::string_view::npos);
}

size_t llamaBytes(std::string_view text, int numbers) {
  auto isNewLine = [](char byte) { return byte == '\r' || byte == '\n'; };
  if (size_t contraction = contractionBytes(text, /*anyCase=*/true))
    return contraction;
  Character first = firstCharacter(text);
  Kind kind = kindOf(first.point);
  // Letters, optionally preceded by one character that is no letter, number or new line.
  size_t before = kind == Kind::Letter ? 0 : first.bytes;
  if (kind != Kind::Number && !isNewLine(text[0]))
    if (size_t end = endOfRun(text, before, Kind::Letter); end > before)
      return end;
  if (kind == Kind::Number)
    return endOfRun(text, 0, Kind::Number, size_t(numbers));
  size_t space = text[0] == ' ' ? 1 : 0;
  if (size_t end = endOfRun(text, space, Kind::Other); end > space) {
    while (end < text.size() && isNewLine(text[end]))
      ++end;
    return end;
  }
  // White space up to and including its last new line.
  size_t end = endOfRun(text, 0, Kind::Space);
  for (size_t place = end; place > 0; --place)
    if (isNewLine(text[place - 1]))
      return place;
  return spaceBytes(text);
}

} // namespace

size_t firstWordBytes(std::string_view text, WordRule rule) {
  if (rule.kind == WordRule::Kind::LLaMA3)
    return llamaBytes(text, rule.numbers);
  return gpt2Bytes(text, /*cutsNumbers=*/rule.numbers > 0);
}

} // namespace heddle
