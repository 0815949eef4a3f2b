#include "runtime/chat/Literals.h"

#include "runtime/text/Unicode.h"

#include <charconv>
#include <cstdlib>

namespace heddle::chat {
namespace {

bool isDigit(char each) { return each >= '0' && each <= '9'; }

int digitOf(char each) {
  if (isDigit(each))
    return each - '0';
  char lower = char(each | 0x20);
  return lower >= 'a' && lower <= 'z' ? lower - 'a' + 10 : 99;
}

// Skips digits of a base, with single underscores between them, from `begin` on. Returns the end.
size_t skipDigits(std::string_view text, size_t begin, int base = 10) {
  size_t end = begin;
  while (end < text.size() && (digitOf(text[end]) < base || (text[end] == '_' && end > begin && end + 1 < text.size() &&
                                                             digitOf(text[end + 1]) < base)))
    ++end;
  return end;
}

// The base of a prefix such as 0x, or 10 without a prefix.
int baseOf(std::string_view text) {
  if (text.size() < 3 || text[0] != '0')
    return 10;
  char mark = char(text[1] | 0x20);
  int base = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 10;
  size_t first = text[2] == '_' ? 3 : 2;
  return first < text.size() && digitOf(text[first]) < base ? base : 10;
}

constexpr std::string_view kEscapes = "\\'\"abfnrtv", kCharacters = "\\'\"\a\b\f\n\r\t\v";

} // namespace

Result<std::string> unescapedString(std::string_view text) {
  std::string out;
  char32_t highHalf = 0; // the first surrogate of a character written as two escapes, as in JSON
  for (size_t i = 0; i < text.size();) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i++];
      continue;
    }
    char mark = text[i + 1];
    size_t digits = mark == 'x' ? 2 : mark == 'u' ? 4 : mark == 'U' ? 8 : 0;
    size_t simple = kEscapes.find(mark);
    if (mark == '\n') { // the string continues on the next line
      i += 2;
    } else if (simple != std::string_view::npos) {
      out += kCharacters[simple];
      i += 2;
    } else if (digits != 0 || (mark >= '0' && mark <= '7')) {
      size_t begin = digits ? i + 2 : i + 1, end = begin;
      int base = digits ? 16 : 8;
      uint32_t point = 0;
      for (size_t most = digits ? digits : 3; end < text.size() && end - begin < most && digitOf(text[end]) < base;
           ++end)
        point = point * uint32_t(base) + uint32_t(digitOf(text[end]));
      if (digits && end - begin < digits)
        return makeError(ErrorKind::Malformed, "a string has the escape \\", mark, " with fewer than ", digits,
                         " digits");
      i = end;
      bool isHigh = point >= 0xD800 && point < 0xDC00, isLow = point >= 0xDC00 && point < 0xE000;
      if (isHigh && text.substr(i, 2) == "\\u") {
        highHalf = point;
        continue;
      }
      if (isLow && highHalf)
        point = 0x10000 + ((highHalf - 0xD800) << 10u) + (point - 0xDC00);
      else if (isHigh || isLow || point > 0x10FFFF)
        return makeError(ErrorKind::Malformed, "a string has an escape that stands for no character");
      highHalf = 0;
      char32_t character = point;
      out += toUtf8(std::u32string_view(&character, 1));
    } else if (mark == 'N') {
      return makeError(ErrorKind::Unsupported, "a string has an escape \\N, which Heddle does not read; write \\u");
    } else { // not an escape
      out += text[i++];
    }
  }
  return out;
}

size_t numberBytes(std::string_view text) {
  if (text.empty() || !isDigit(text[0]))
    return 0;
  if (int base = baseOf(text); base != 10)
    return skipDigits(text, text[2] == '_' ? 3 : 2, base);
  size_t end = skipDigits(text, 0), whole = end;
  if (end + 1 < text.size() && text[end] == '.' && isDigit(text[end + 1]))
    end = skipDigits(text, end + 1);
  if (end < text.size() && (text[end] | 0x20) == 'e') {
    size_t power = end + 1;
    if (power < text.size() && (text[power] == '+' || text[power] == '-'))
      ++power;
    if (power < text.size() && isDigit(text[power]))
      end = skipDigits(text, power);
  }
  if (end == whole && text[0] == '0') { // 007 is three numbers
    size_t zeros = 1;
    while (zeros < end && (text[zeros] == '0' || text[zeros] == '_'))
      ++zeros;
    return text[zeros - 1] == '_' ? zeros - 1 : zeros;
  }
  return end;
}

Result<Value> readNumber(std::string_view text) {
  std::string plain;
  for (char each : text)
    if (each != '_')
      plain += each;
  int base = baseOf(plain);
  if (base == 10 && plain.find_first_of(".eE") != std::string::npos)
    return Value(std::strtod(plain.c_str(), nullptr));
  int64_t whole = 0;
  const char *begin = plain.data() + (base == 10 ? 0 : 2);
  if (std::from_chars(begin, plain.data() + plain.size(), whole, base).ec != std::errc())
    return makeError(ErrorKind::Unsupported, "the number ", plain.substr(0, 40), " does not fit into 64 bits");
  return Value(whole);
}

} // namespace heddle::chat
