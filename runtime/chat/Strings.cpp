#include "runtime/chat/Strings.h"

#include "runtime/text/Unicode.h"
#include "runtime/text/Utf8.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstring>

namespace heddle::chat {
namespace {

// Characters whose upper case consists of several characters, independent of the language.
struct Capitals {
  char32_t point;
  const char *capitals;
};
constexpr Capitals kCapitals[] = {{U'\u00df', "SS"},           {U'\u0149', "\u02bcN"}, {U'\u01f0', "J\u030c"},
                                  {U'\u0587', "\u0535\u0552"}, {U'\ufb00', "FF"},      {U'\ufb01', "FI"},
                                  {U'\ufb02', "FL"},           {U'\ufb03', "FFI"},     {U'\ufb04', "FFL"},
                                  {U'\ufb05', "ST"},           {U'\ufb06', "ST"}};

void append(std::string &out, char32_t point) { out += toUtf8(std::u32string_view(&point, 1)); }

// Null if the upper case of the character is a single character.
const char *severalCapitals(char32_t point) {
  for (const Capitals &each : kCapitals)
    if (each.point == point)
      return each.capitals;
  return nullptr;
}

void appendUpper(std::string &out, char32_t point) {
  if (const char *several = severalCapitals(point))
    out += several;
  else
    append(out, char32_t(utf8proc_toupper(utf8proc_int32_t(point))));
}

void appendTitle(std::string &out, char32_t point) {
  const char *several = severalCapitals(point);
  if (!several)
    return append(out, char32_t(utf8proc_totitle(utf8proc_int32_t(point))));
  std::u32string capitals = codePoints(several);
  append(out, capitals[0]);
  out += toUtf8(lowerCase(std::u32string_view(capitals).substr(1)));
}

bool isUpperLetter(char32_t point) {
  static const uint32_t upper = categoriesNamed("Lu");
  return (categoryBit(point) & upper) != 0;
}
bool isLowerLetter(char32_t point) {
  static const uint32_t lower = categoriesNamed("Ll");
  return (categoryBit(point) & lower) != 0 || point == U'\u00aa' || point == U'\u00ba';
}
bool isTitleLetter(char32_t point) {
  static const uint32_t title = categoriesNamed("Lt");
  return (categoryBit(point) & title) != 0;
}
bool isCased(char32_t point) { return isUpperLetter(point) || isLowerLetter(point) || isTitleLetter(point); }

bool isAsciiOnly(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char byte) { return uint8_t(byte) < 0x80; });
}

} // namespace

size_t characterBytes(std::string_view text, size_t begin) {
  uint8_t first = uint8_t(text[begin]);
  size_t bytes = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  return std::min(bytes, text.size() - begin);
}

std::vector<size_t> characterStarts(std::string_view text) {
  std::vector<size_t> starts;
  for (size_t begin = 0; begin < text.size(); begin += characterBytes(text, begin))
    starts.push_back(begin);
  starts.push_back(text.size());
  return starts;
}

std::string characters(const Text &text, size_t begin, size_t end) {
  if (text.isAscii())
    return text.bytes.substr(begin, end - begin);
  size_t place = 0, number = 0;
  for (; number < begin; ++number)
    place += characterBytes(text.bytes, place);
  size_t first = place;
  for (; number < end; ++number)
    place += characterBytes(text.bytes, place);
  return text.bytes.substr(first, place - first);
}

size_t charactersBefore(const Text &text, size_t byte) {
  if (text.isAscii())
    return byte;
  size_t number = 0;
  for (size_t place = 0; place < byte; place += characterBytes(text.bytes, place))
    ++number;
  return number;
}

// memmem() takes linear time; std::string::find() may take the product of both lengths.
size_t findText(std::string_view text, std::string_view part, size_t begin) {
  if (begin > text.size())
    return std::string::npos;
  if (part.empty())
    return begin;
  const void *found = memmem(text.data() + begin, text.size() - begin, part.data(), part.size());
  return found ? size_t(static_cast<const char *>(found) - text.data()) : std::string::npos;
}

size_t findLastText(std::string_view text, std::string_view part) {
  std::string backwards(text.rbegin(), text.rend()), other(part.rbegin(), part.rend());
  size_t found = findText(backwards, other, 0);
  return found == std::string::npos ? found : text.size() - found - part.size();
}

Result<std::string> replaced(std::string_view text, std::string_view old, std::string_view fresh, int64_t count,
                             const Budget &budget) {
  uint64_t left = count < 0 ? UINT64_MAX : uint64_t(count);
  std::string out;
  size_t begin = 0;
  auto roomFor = [&](size_t more) { return budget.room(out.size() + more); };
  while (left > 0) {
    size_t found = findText(text, old, begin);
    if (found == std::string::npos)
      break;
    HEDDLE_CHECK(roomFor(fresh.size()));
    out += text.substr(begin, found - begin);
    out += fresh;
    begin = found + old.size();
    --left;
    if (!old.empty())
      continue;
    if (begin == text.size()) // an empty text occurs before each character and at the end
      return out;
    size_t bytes = characterBytes(text, begin);
    out += text.substr(begin, bytes);
    begin += bytes;
  }
  HEDDLE_CHECK(roomFor(text.size() - begin));
  out += text.substr(begin);
  return out;
}

std::string upperCase(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  if (isAsciiOnly(text)) {
    for (char each : text)
      out += each >= 'a' && each <= 'z' ? char(each - 'a' + 'A') : each;
    return out;
  }
  for (char32_t point : codePoints(text))
    appendUpper(out, point);
  return out;
}

std::string lowerCaseOf(std::string_view text) {
  if (!isAsciiOnly(text))
    return toUtf8(lowerCase(codePoints(text)));
  std::string out(text);
  for (char &each : out)
    each = each >= 'A' && each <= 'Z' ? char(each - 'A' + 'a') : each;
  return out;
}

std::string titleCase(std::string_view text) {
  std::string out;
  bool inWord = false;
  for (char32_t point : codePoints(text)) {
    if (inWord)
      out += toUtf8(lowerCase(std::u32string_view(&point, 1)));
    else
      appendTitle(out, point);
    inWord = isCased(point);
  }
  return out;
}

std::string capitalized(std::string_view text) {
  std::string out;
  if (text.empty())
    return out;
  auto [point, bytes] = firstCharacter(text);
  appendTitle(out, point);
  return out + lowerCaseOf(text.substr(bytes));
}

std::string swappedCase(std::string_view text) {
  std::string out;
  for (char32_t point : codePoints(text)) {
    if (isUpperLetter(point))
      out += toUtf8(lowerCase(std::u32string_view(&point, 1)));
    else
      appendUpper(out, point);
  }
  return out;
}

std::string_view stripped(std::string_view text, const std::string *set, Ends ends) {
  auto isOut = [&](std::string_view character) {
    return set ? set->find(character) != std::string::npos : whiteSpaceBytes(character) != 0;
  };
  while (ends != Ends::Right && !text.empty()) {
    size_t bytes = characterBytes(text, 0);
    if (!isOut(text.substr(0, bytes)))
      break;
    text.remove_prefix(bytes);
  }
  while (ends != Ends::Left && !text.empty()) {
    size_t begin = text.size() - 1;
    while (begin > 0 && (uint8_t(text[begin]) & 0xC0u) == 0x80u)
      --begin;
    if (!isOut(text.substr(begin)))
      break;
    text = text.substr(0, begin);
  }
  return text;
}

// Returns true if a letter has the case, and none has another.
static bool hasOnly(bool (*isWanted)(char32_t), std::string_view text) {
  bool hasWanted = false;
  for (char32_t point : codePoints(text)) {
    if (isCased(point) && !isWanted(point))
      return false;
    hasWanted |= isWanted(point);
  }
  return hasWanted;
}

bool isUpper(std::string_view text) { return hasOnly(isUpperLetter, text); }
bool isLower(std::string_view text) { return hasOnly(isLowerLetter, text); }

bool isTitle(std::string_view text) {
  bool inWord = false, hasWord = false;
  for (char32_t point : codePoints(text)) {
    bool isFirst = isUpperLetter(point) || isTitleLetter(point);
    if (isFirst ? inWord : isLowerLetter(point) && !inWord)
      return false;
    inWord = isCased(point);
    hasWord |= inWord;
  }
  return hasWord;
}

} // namespace heddle::chat
