#include "runtime/text/Unicode.h"

#include "runtime/text/Utf8.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace heddle {
namespace {

utf8proc_category_t category(char32_t point) { return utf8proc_category(utf8proc_int32_t(point)); }

bool isOneOf(char32_t point, std::initializer_list<utf8proc_category_t> categories) {
  return std::ranges::find(categories, category(point)) != categories.end();
}

// The properties Cased and Case_Ignorable, except for a few cased letters that are neither upper nor lower case
// (such as U+00AA).
bool isCased(char32_t point) {
  auto c = utf8proc_int32_t(point);
  return isOneOf(point, {UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LL, UTF8PROC_CATEGORY_LT}) || utf8proc_islower(c) ||
         utf8proc_isupper(c);
}

bool isCaseIgnorable(char32_t point) {
  constexpr std::u32string_view kWithinWords = U"'.:\u00b7\u0387\u055f\u05f4\u2018\u2019\u2024\u2027\ufe13\ufe52\ufe55"
                                               U"\uff07\uff0e\uff1a"; // Word_Break is MidLetter or the like
  return isOneOf(point, {UTF8PROC_CATEGORY_MN, UTF8PROC_CATEGORY_ME, UTF8PROC_CATEGORY_CF, UTF8PROC_CATEGORY_LM,
                         UTF8PROC_CATEGORY_SK}) ||
         kWithinWords.find(point) != std::u32string_view::npos;
}

// The condition Final_Sigma for the character at `place`: a cased letter precedes it, and none follows.
bool endsWord(std::u32string_view text, size_t place) {
  auto seesCased = [](auto begin, auto end) {
    auto next = std::find_if_not(begin, end, isCaseIgnorable);
    return next != end && isCased(*next);
  };
  std::u32string_view before = text.substr(0, place), after = text.substr(place + 1);
  return seesCased(before.rbegin(), before.rend()) && !seesCased(after.begin(), after.end());
}

using Points = std::vector<utf8proc_int32_t>;

// utf8proc_decompose() without its sorting of marks, which takes time quadratic in their number.
Points decompose(std::u32string_view text, int options) {
  constexpr size_t kLongest = 32; // no character decomposes into more
  Points points;
  points.reserve(text.size());
  for (char32_t point : text) {
    utf8proc_int32_t parts[kLongest];
    int boundary = 0;
    utf8proc_ssize_t count = utf8proc_decompose_char(utf8proc_int32_t(point), parts, kLongest,
                                                     utf8proc_option_t(options | UTF8PROC_STABLE), &boundary);
    if (count >= 0 && count <= utf8proc_ssize_t(kLongest))
      points.insert(points.end(), parts, parts + count);
  }
  // Sorts consecutive marks by their combining classes.
  auto classOf = [](utf8proc_int32_t point) { return utf8proc_get_property(point)->combining_class; };
  auto isMark = [&](utf8proc_int32_t point) { return classOf(point) != 0; };
  for (auto begin = points.begin(); (begin = std::find_if(begin, points.end(), isMark)) != points.end();) {
    auto end = std::find_if_not(begin, points.end(), isMark);
    std::stable_sort(begin, end, [&](auto a, auto b) { return classOf(a) < classOf(b); });
    begin = end;
  }
  return points;
}

} // namespace

bool isLetter(char32_t point) {
  auto of = category(point);
  return of >= UTF8PROC_CATEGORY_LU && of <= UTF8PROC_CATEGORY_LO;
}

bool isNumber(char32_t point) {
  auto of = category(point);
  return of >= UTF8PROC_CATEGORY_ND && of <= UTF8PROC_CATEGORY_NO;
}

bool isPunctuation(char32_t point) {
  auto of = category(point);
  return of >= UTF8PROC_CATEGORY_PC && of <= UTF8PROC_CATEGORY_PO;
}

bool isOther(char32_t point) {
  return isOneOf(point, {UTF8PROC_CATEGORY_CN, UTF8PROC_CATEGORY_CC, UTF8PROC_CATEGORY_CF, UTF8PROC_CATEGORY_CS,
                         UTF8PROC_CATEGORY_CO});
}

uint32_t categoryBit(char32_t point) { return uint32_t(1) << category(point); }

uint32_t categoriesNamed(std::string_view name) {
  constexpr const char *names[] = {"Cn", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd",
                                   "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm",
                                   "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co"};
  uint32_t bits = 0;
  for (size_t i = 0; i < std::size(names); ++i)
    if (std::string_view(names[i]).starts_with(name))
      bits |= uint32_t(1) << i;
  return bits;
}

bool isNonspacingMark(char32_t point) { return category(point) == UTF8PROC_CATEGORY_MN; }

bool isWhiteSpace(char32_t point) {
  return (point >= 0x09 && point <= 0x0d) || point == 0x85 ||
         isOneOf(point, {UTF8PROC_CATEGORY_ZS, UTF8PROC_CATEGORY_ZL, UTF8PROC_CATEGORY_ZP});
}

std::u32string lowerCase(std::u32string_view text) {
  std::u32string result;
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] == U'\u0130')
      result += U"i\u0307";
    else if (text[i] == U'\u03a3')
      result += endsWord(text, i) ? U'\u03c2' : U'\u03c3';
    else
      result += char32_t(utf8proc_tolower(utf8proc_int32_t(text[i])));
  return result;
}

std::u32string decomposed(std::u32string_view text) {
  Points points = decompose(text, UTF8PROC_DECOMPOSE);
  return {points.begin(), points.end()};
}

std::string normalized(std::string_view text, NormalForm form) {
  if (!isValidUtf8(text))
    return std::string(text);
  bool isCompatible = form == NormalForm::KC || form == NormalForm::KD;
  Points points = decompose(codePoints(text), UTF8PROC_DECOMPOSE | (isCompatible ? UTF8PROC_COMPAT : 0));
  if (form == NormalForm::C || form == NormalForm::KC)
    points.resize(size_t(utf8proc_normalize_utf32(points.data(), utf8proc_ssize_t(points.size()),
                                                  utf8proc_option_t(UTF8PROC_COMPOSE | UTF8PROC_STABLE))));
  return toUtf8(std::u32string(points.begin(), points.end()));
}

size_t firstClusterBytes(std::string_view text) {
  Character last = firstCharacter(text);
  size_t bytes = last.bytes;
  for (utf8proc_int32_t state = 0; bytes < text.size();) {
    Character next = firstCharacter(text.substr(bytes));
    if (utf8proc_grapheme_break_stateful(utf8proc_int32_t(last.point), utf8proc_int32_t(next.point), &state))
      break;
    bytes += next.bytes;
    last = next;
  }
  return bytes;
}

std::string_view withoutLeadingSpace(std::string_view text) {
  while (!text.empty()) {
    Character first = firstCharacter(text);
    if (!isWhiteSpace(first.point))
      break;
    text.remove_prefix(first.bytes);
  }
  return text;
}

std::string_view withoutTrailingSpace(std::string_view text) {
  size_t end = 0; // after the last character that is not white space
  for (size_t place = 0; place < text.size();) {
    Character next = firstCharacter(text.substr(place));
    place += next.bytes;
    if (!isWhiteSpace(next.point))
      end = place;
  }
  return text.substr(0, end);
}

std::string toUtf8(std::u32string_view text) {
  std::string result;
  for (char32_t point : text) {
    utf8proc_uint8_t bytes[4];
    result.append(reinterpret_cast<char *>(bytes), size_t(utf8proc_encode_char(utf8proc_int32_t(point), bytes)));
  }
  return result;
}

} // namespace heddle
