#include "runtime/text/Unicode.h"

#include "runtime/text/Utf8.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace heddle {
namespace {

utf8proc_category_t category(char32_t point) { return utf8proc_category(utf8proc_int32_t(point)); }

bool isOneOf(char32_t point, std::initializer_list<utf8proc_category_t> categories) {
  return std::ranges::find(categories, category(point)) != categories.end();
}

// The properties Cased and Case_Ignorable, but for a few letters of neither case (such as U+00AA) that are cased.
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

// The condition Final_Sigma for the character at `place`: a cased letter before it, none behind it.
bool endsWord(std::u32string_view text, size_t place) {
  auto seesCased = [](auto begin, auto end) {
    auto next = std::find_if_not(begin, end, isCaseIgnorable);
    return next != end && isCased(*next);
  };
  std::u32string_view before = text.substr(0, place), after = text.substr(place + 1);
  return seesCased(before.rbegin(), before.rend()) && !seesCased(after.begin(), after.end());
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
  std::string bytes = toUtf8(text);
  std::vector<utf8proc_int32_t> points(4 * text.size());
  auto decompose = [&] {
    return utf8proc_decompose(reinterpret_cast<const utf8proc_uint8_t *>(bytes.data()), utf8proc_ssize_t(bytes.size()),
                              points.data(), utf8proc_ssize_t(points.size()),
                              utf8proc_option_t(UTF8PROC_DECOMPOSE | UTF8PROC_STABLE));
  };
  utf8proc_ssize_t count = decompose();
  if (count > utf8proc_ssize_t(points.size())) {
    points.resize(size_t(count));
    count = decompose();
  }
  // Below 0 for what is no text.
  return {points.begin(), points.begin() + std::max<utf8proc_ssize_t>(count, 0)};
}

std::string normalized(std::string_view text, NormalForm form) {
  int options = UTF8PROC_STABLE;
  options |= form == NormalForm::C || form == NormalForm::KC ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
  if (form == NormalForm::KC || form == NormalForm::KD)
    options |= UTF8PROC_COMPAT;
  utf8proc_uint8_t *result = nullptr;
  utf8proc_ssize_t bytes = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t *>(text.data()),
                                        utf8proc_ssize_t(text.size()), &result, utf8proc_option_t(options));
  std::string normal = bytes < 0 ? std::string(text) : std::string(reinterpret_cast<char *>(result), size_t(bytes));
  std::free(result);
  return normal;
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
  size_t end = 0; // of the last character that is none
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
