// String methods that change case, pad, or classify characters.
#include "runtime/chat/Arguments.h"
#include "runtime/chat/Formatting.h"
#include "runtime/chat/Items.h"
#include "runtime/chat/Methods.h"
#include "runtime/chat/Strings.h"
#include "runtime/text/Unicode.h"
#include "runtime/text/Utf8.h"

#include <algorithm>

namespace heddle::chat {
namespace {

template <auto change> Result<Value> changed(Environment &, const Text &self, Arguments &arguments) {
  HEDDLE_CHECK(Parameters::bind("method", arguments, {}));
  return makeText(change(self.bytes));
}

template <auto holds> Result<Value> asked(Environment &, const Text &self, Arguments &arguments) {
  HEDDLE_CHECK(Parameters::bind("method", arguments, {}));
  return Value(bool(holds(self.bytes)));
}

// Returns true if there is at least one character and `holds` is true for all of them.
template <auto holds> bool allOf(std::string_view text) {
  std::u32string points = codePoints(text);
  return !points.empty() && std::all_of(points.begin(), points.end(), holds);
}

bool isDigit(char32_t point) {
  static const uint32_t digits = categoriesNamed("Nd");
  return (categoryBit(point) & digits) != 0;
}
bool isSuperscript(char32_t point) {
  return point == 0xB2 || point == 0xB3 || point == 0xB9 || (point >= 0x2070 && point <= 0x2089);
}
bool isDigitOrSuperscript(char32_t point) { return isDigit(point) || isSuperscript(point); }
bool isLetterOrNumber(char32_t point) { return isLetter(point) || isNumber(point); }
bool isSpace(char32_t point) { return whiteSpaceBytes(toUtf8(std::u32string_view(&point, 1))) != 0; }
bool isAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char byte) { return uint8_t(byte) < 0x80; });
}
bool isIdentifier(std::string_view text) {
  std::u32string points = codePoints(text);
  return !points.empty() && !isNumber(points[0]) && std::all_of(points.begin(), points.end(), [](char32_t point) {
    return point == '_' || isLetterOrNumber(point);
  });
}

template <Ends ends> Result<Value> stripMethod(Environment &, const Text &self, Arguments &arguments) {
  HEDDLE_ASSIGN(Parameters given, Parameters::bind("strip", arguments, {"chars"}));
  if (!given[0] || given[0]->isNone())
    return makeText(std::string(stripped(self.bytes, nullptr, ends)));
  HEDDLE_CHECK(requireText(*given[0], "strip arg must be None or str"));
  return makeText(std::string(stripped(self.bytes, &given[0]->text()->bytes, ends)));
}

template <Side side> Result<Value> padMethod(Environment &environment, const Text &self, Arguments &arguments) {
  HEDDLE_ASSIGN(Parameters given, Parameters::bind("center", arguments, {"width", "fillchar"}, 1));
  HEDDLE_ASSIGN(int64_t width, given.whole(0, 0));
  HEDDLE_ASSIGN(std::string fill, given.text(1, " "));
  if (codePoints(fill).size() != 1)
    return typeError("The fill character must be exactly one character long");
  HEDDLE_ASSIGN(std::string whole, padded(self, width, fill, side, environment));
  return makeText(std::move(whole));
}

Result<Value> zfillMethod(Environment &environment, const Text &self, Arguments &arguments) {
  HEDDLE_ASSIGN(Parameters given, Parameters::bind("zfill", arguments, {"width"}, 1));
  HEDDLE_ASSIGN(int64_t width, given.whole(0, 0));
  bool hasSign = self.bytes.starts_with('-') || self.bytes.starts_with('+');
  Text digits(self.bytes.substr(hasSign ? 1 : 0), false);
  HEDDLE_ASSIGN(std::string whole,
                padded(digits, std::max(width, int64_t(1)) - int64_t(hasSign), "0", Side::Right, environment));
  return makeText(self.bytes.substr(0, hasSign ? 1 : 0) + whole);
}

Result<Value> expandtabsMethod(Environment &environment, const Text &self, Arguments &arguments) {
  HEDDLE_ASSIGN(Parameters given, Parameters::bind("expandtabs", arguments, {"tabsize"}));
  HEDDLE_ASSIGN(int64_t size, given.whole(0, 8));
  std::string whole;
  uint64_t column = 0, width = size > 0 ? uint64_t(size) : 0;
  for (size_t place = 0, bytes = 0; place < self.bytes.size(); place += bytes) {
    bytes = characterBytes(self.bytes, place);
    char first = self.bytes[place];
    if (first == '\t') {
      uint64_t blanks = width == 0 ? 0 : width - column % width;
      HEDDLE_CHECK(environment.budget.room(whole.size() + blanks));
      whole.append(blanks, ' ');
      column += blanks;
    } else {
      whole += self.bytes.substr(place, bytes);
      column = first == '\n' || first == '\r' ? 0 : column + 1;
    }
  }
  return makeText(std::move(whole));
}

Result<Value> formatMethod(Environment &environment, const Text &self, Arguments &arguments) {
  return braceFormat(self, arguments, environment);
}

constexpr NamedMethod kMethods[] = {{"capitalize", changed<capitalized>},
                                    {"casefold", changed<lowerCaseOf>},
                                    {"center", padMethod<Side::Middle>},
                                    {"expandtabs", expandtabsMethod},
                                    {"format", formatMethod},
                                    {"isalnum", asked<allOf<isLetterOrNumber>>},
                                    {"isalpha", asked<allOf<isLetter>>},
                                    {"isascii", asked<isAscii>},
                                    {"isdecimal", asked<allOf<isDigit>>},
                                    {"isdigit", asked<allOf<isDigitOrSuperscript>>},
                                    {"isidentifier", asked<isIdentifier>},
                                    {"islower", asked<isLower>},
                                    {"isnumeric", asked<allOf<isNumber>>},
                                    {"isspace", asked<allOf<isSpace>>},
                                    {"istitle", asked<isTitle>},
                                    {"isupper", asked<isUpper>},
                                    {"ljust", padMethod<Side::Left>},
                                    {"lower", changed<lowerCaseOf>},
                                    {"lstrip", stripMethod<Ends::Left>},
                                    {"rjust", padMethod<Side::Right>},
                                    {"rstrip", stripMethod<Ends::Right>},
                                    {"strip", stripMethod<Ends::Both>},
                                    {"swapcase", changed<swappedCase>},
                                    {"title", changed<titleCase>},
                                    {"upper", changed<upperCase>},
                                    {"zfill", zfillMethod}};

} // namespace

std::span<const NamedMethod> otherMethods() { return kMethods; }

Result<std::string> padded(const Text &text, int64_t width, std::string_view fill, Side side,
                           Environment &environment) {
  if (width <= int64_t(text.length))
    return text.bytes;
  uint64_t missing = uint64_t(width) - text.length;
  if (missing > UINT32_MAX)
    missing = UINT32_MAX; // more than the budget allows
  HEDDLE_CHECK(environment.budget.room(text.bytes.size() + missing * fill.size()));
  // If the number of fill characters is odd, Python puts the extra one to the left if the width is odd, else to the
  // right.
  uint64_t left = side == Side::Left    ? 0
                  : side == Side::Right ? missing
                                        : missing / 2 + (missing & uint64_t(width) & 1u);
  std::string whole;
  for (uint64_t i = 0; i < left; ++i)
    whole += fill;
  whole += text.bytes;
  for (uint64_t i = left; i < missing; ++i)
    whole += fill;
  return whole;
}

} // namespace heddle::chat
