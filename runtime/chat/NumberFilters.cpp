// Filters that return numbers.
#include "runtime/chat/Arguments.h"
#include "runtime/chat/Functions.h"
#include "runtime/chat/Operators.h"
#include "runtime/chat/Strings.h"
#include "runtime/chat/ValueText.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace heddle::chat {
namespace {

// Removes surrounding white space, and underscores between digits.
std::string plainNumber(std::string_view text) {
  std::string plain;
  text = stripped(text, nullptr, Ends::Both);
  for (size_t i = 0; i < text.size(); ++i) {
    bool isDivider = text[i] == '_' && i > 0 && i + 1 < text.size() && text[i - 1] != '_';
    if (!isDivider)
      plain += text[i];
  }
  return plain;
}

// Parses a text like Python's float().
std::optional<double> realOf(std::string_view text) {
  std::string plain = plainNumber(text);
  if (plain.empty() || plain.find_first_of("xX(") != std::string::npos || plain.find('\0') != std::string::npos)
    return std::nullopt;
  char *end = nullptr;
  double value = std::strtod(plain.c_str(), &end);
  return end == plain.c_str() + plain.size() ? std::optional(value) : std::nullopt;
}

// Parses a text like Python's int(). Base 0 means that a prefix gives the base.
std::optional<int64_t> wholeOf(std::string_view text, int64_t base) {
  std::string plain = plainNumber(text);
  size_t begin = !plain.empty() && (plain[0] == '-' || plain[0] == '+') ? 1 : 0;
  bool isNegative = begin == 1 && plain[0] == '-';
  if (begin + 2 < plain.size() && plain[begin] == '0') {
    char mark = char(plain[begin + 1] | 0x20);
    int64_t named = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
    if (named != 0 && (base == named || base == 0)) {
      base = named;
      begin += 2;
    }
  }
  std::string digits = (isNegative ? "-" : "") + plain.substr(begin);
  int64_t value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, int(base == 0 ? 10 : base));
  bool isWhole =
      error == std::errc() && end == digits.data() + digits.size() && begin < plain.size() && plain[begin] != '-';
  return isWhole ? std::optional(value) : std::nullopt;
}

std::optional<int64_t> truncated(double value) {
  return std::fabs(value) < 9.2e18 ? std::optional(int64_t(value)) : std::nullopt;
}

Result<Value> toWhole(Environment &, const Value &value, Arguments &arguments) {
  HEDDLE_ASSIGN(Parameters given, Parameters::bind("int", arguments, {"default", "base"}));
  HEDDLE_ASSIGN(int64_t base, given.whole(1, 10));
  if (value.missing())
    return value.missing()->error();
  std::optional<int64_t> whole = value.integer();
  if (const Text *text = value.text()) {
    if (base == 0 || (base >= 2 && base <= 36))
      whole = wholeOf(text->bytes, base);
    if (std::optional<double> real = realOf(text->bytes); !whole && real)
      whole = truncated(*real);
  } else if (value.real()) {
    whole = truncated(*value.real());
  }
  return whole ? Value(*whole) : given.valueOr(0, Value(int64_t(0)));
}

Result<Value> toReal(Environment &, const Value &value, Arguments &arguments) {
  HEDDLE_ASSIGN(Parameters given, Parameters::bind("float", arguments, {"default"}));
  if (value.missing())
    return value.missing()->error();
  std::optional<double> real = value.text() ? realOf(value.text()->bytes) : value.number();
  return real ? Value(*real) : given.valueOr(0, Value(0.0));
}

Result<Value> absolute(Environment &, const Value &value, Arguments &) {
  if (std::optional<int64_t> whole = value.integer())
    return *whole < 0 ? negated(value) : Value(*whole);
  if (value.real())
    return Value(std::fabs(*value.real()));
  return typeError("bad operand type for abs(): '", value.typeName(), "'");
}

// Python's round(): ties go to the even digit.
double roundedTo(double value, int64_t decimals) {
  if (decimals > 300 || !std::isfinite(value))
    return value;
  if (decimals < 0) {
    double scale = std::pow(10.0, double(-decimals));
    return std::isinf(scale) ? 0.0 : std::nearbyint(value / scale) * scale;
  }
  char text[700];
  std::snprintf(text, sizeof text, "%.*f", int(decimals), value);
  return std::strtod(text, nullptr);
}

Result<Value> round(Environment &, const Value &value, Arguments &arguments) {
  HEDDLE_ASSIGN(Parameters given, Parameters::bind("round", arguments, {"precision", "method"}));
  HEDDLE_ASSIGN(int64_t precision, given.whole(0, 0));
  HEDDLE_ASSIGN(std::string method, given.text(1, "common"));
  if (method != "common" && method != "ceil" && method != "floor")
    return makeError(ErrorKind::InvalidArgument, "FilterArgumentError: method must be common, ceil or floor");
  if (!value.number())
    return typeError("type ", value.typeName(), " doesn't define __round__ method");
  double number = *value.number();
  if (method == "common") {
    if (value.integer() && precision >= 0)
      return Value(*value.integer());
    double rounded = roundedTo(number, precision);
    std::optional<int64_t> whole = value.integer() ? truncated(rounded) : std::nullopt;
    return whole ? Value(*whole) : Value(rounded);
  }
  double scale = std::pow(10.0, double(precision));
  return Value((method == "ceil" ? std::ceil(number * scale) : std::floor(number * scale)) / scale);
}

constexpr NamedFilter kFilters[] = {{"abs", absolute}, {"float", toReal}, {"int", toWhole}, {"round", round}};

} // namespace

std::span<const NamedFilter> numberFilters() { return kFilters; }

} // namespace heddle::chat
