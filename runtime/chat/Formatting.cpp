#include "runtime/chat/Formatting.h"

#include "runtime/chat/Items.h"
#include "runtime/chat/Methods.h"
#include "runtime/chat/Strings.h"
#include "runtime/chat/ValueText.h"
#include "runtime/text/Unicode.h"
#include "runtime/text/Utf8.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace heddle::chat {
namespace {

constexpr int64_t kMostDecimals = 1000;

std::string wholeDigits(uint64_t magnitude, unsigned base, bool isUpper) {
  std::string digits;
  do {
    unsigned digit = unsigned(magnitude % base);
    digits += digit < 10 ? char('0' + digit) : char((isUpper ? 'A' : 'a') + digit - 10);
    magnitude /= base;
  } while (magnitude != 0);
  std::reverse(digits.begin(), digits.end());
  return digits;
}

std::string withSeparators(const std::string &digits, char separator) {
  size_t whole = std::min(digits.find_first_not_of("0123456789"), digits.size());
  std::string out;
  for (size_t i = 0; i < whole; ++i) {
    if (i != 0 && (whole - i) % 3 == 0)
      out += separator;
    out += digits[i];
  }
  return out + digits.substr(whole);
}

std::string realDigits(double magnitude, char type, int64_t precision, bool isAlternate) {
  if (std::isnan(magnitude) || std::isinf(magnitude))
    return std::isnan(magnitude) ? "nan" : "inf";
  char form[8];
  std::snprintf(form, sizeof form, isAlternate ? "%%#.*%c" : "%%.*%c", type);
  std::string digits(size_t(std::snprintf(nullptr, 0, form, int(precision), magnitude)), ' ');
  std::snprintf(digits.data(), digits.size() + 1, form, int(precision), magnitude);
  return digits;
}

// The digits of a number, and its sign with the prefix.
struct NumberParts {
  std::string sign, digits;
};

Result<NumberParts> numberParts(const Value &value, const FieldFormat &format) {
  NumberParts parts;
  char type = format.type;
  std::optional<int64_t> whole = value.integer();
  bool isWhole =
      whole && (type == 0 || type == 'd' || type == 'n' || type == 'x' || type == 'X' || type == 'o' || type == 'b');
  if (!isWhole && type != 0 && std::string_view("eEfFgG%n").find(type) == std::string_view::npos)
    return valueError("Unknown format code '", std::string(1, type), "' for object of type '", value.typeName(), "'");
  bool isNegative = isWhole ? *whole < 0 : std::signbit(*value.number());
  parts.sign = isNegative ? "-" : format.sign == '-' ? "" : std::string(1, format.sign);
  if (isWhole) {
    uint64_t magnitude = isNegative ? uint64_t(0) - uint64_t(*whole) : uint64_t(*whole);
    bool isHex = type == 'x' || type == 'X';
    parts.digits = wholeDigits(magnitude, isHex ? 16 : type == 'o' ? 8 : type == 'b' ? 2 : 10, type == 'X');
    if (format.isAlternate && type != 0 && type != 'd')
      parts.sign += std::string("0") + type;
  } else {
    double magnitude = std::fabs(*value.number());
    if (type == 0 && format.precision < 0)
      parts.digits = realText(magnitude);
    else if (type == '%')
      parts.digits = realDigits(magnitude * 100, 'f', format.precision < 0 ? 6 : format.precision, false) + "%";
    else
      parts.digits = realDigits(magnitude, type == 0 || type == 'n' ? 'g' : type,
                                format.precision < 0 ? 6 : format.precision, format.isAlternate);
  }
  if (format.hasCommas)
    parts.digits = withSeparators(parts.digits, format.separator);
  return parts;
}

// The character with this code point, or the only character of a text.
Result<std::string> characterOf(const Value &value) {
  if (value.text() && value.text()->length == 1)
    return value.text()->bytes;
  std::optional<int64_t> point = value.integer();
  if (!point)
    return typeError("%c requires int or char");
  if (*point < 0 || *point > 0x10FFFF || (*point >= 0xD800 && *point < 0xE000))
    return makeError(ErrorKind::InvalidArgument, "OverflowError: %c arg not in range(0x110000)");
  char32_t character = char32_t(*point);
  return toUtf8(std::u32string_view(&character, 1));
}

} // namespace

Result<std::string> formatValue(const Value &value, const FieldFormat &format, Environment &environment) {
  if (format.precision > kMostDecimals)
    return makeError(ErrorKind::Unsupported, "LimitError: a number is written with more than ", kMostDecimals,
                     " decimals");
  bool isNumber = value.number() && format.type != 's' && format.type != 'c';
  std::string content, sign;
  if (isNumber) {
    HEDDLE_ASSIGN(NumberParts parts, numberParts(value, format));
    content = std::move(parts.digits);
    sign = std::move(parts.sign);
  } else {
    if (format.type != 0 && format.type != 's' && format.type != 'c')
      return valueError("Unknown format code '", std::string(1, format.type), "' for object of type '",
                        value.typeName(), "'");
    HEDDLE_ASSIGN(content, format.type == 'c' ? characterOf(value) : textOf(value, environment.budget));
    if (format.precision >= 0) {
      Text whole(content, false);
      content = characters(whole, 0, std::min(size_t(format.precision), whole.length));
    }
  }
  char align = format.align ? format.align : isNumber ? '>' : '<';
  if (align == '=') {
    Text digits(content, false);
    HEDDLE_ASSIGN(content, padded(digits, format.width - int64_t(sign.size()), format.fill, Side::Right, environment));
    return sign + content;
  }
  Text whole(sign + content, false);
  if (align != '^')
    return padded(whole, format.width, format.fill, align == '<' ? Side::Left : Side::Right, environment);
  // If the fill is odd, format() puts the extra character to the right, unlike center().
  int64_t missing = std::max(format.width - int64_t(whole.length), int64_t(0));
  HEDDLE_ASSIGN(std::string half,
                padded(whole, format.width - missing + missing / 2, format.fill, Side::Right, environment));
  return padded(Text(half, false), format.width, format.fill, Side::Left, environment);
}

namespace {

class PercentFormatter {
public:
  PercentFormatter(const Text &text, const Value &values, Environment &environment)
      : text(text.bytes), values(values), environment(environment), isMarkup(text.isMarkup) {}

  Result<Value> run() {
    while (place < text.size()) {
      size_t mark = std::min(text.find('%', place), text.size());
      out += text.substr(place, mark - place);
      place = mark;
      if (place < text.size())
        HEDDLE_CHECK(readField());
      HEDDLE_CHECK(environment.budget.room(out.size()));
    }
    bool isTuple = values.list() && values.list()->isTuple;
    // Every value with elements is accepted as a mapping.
    bool hasElements =
        values.dict() || values.list() || values.missing() || (values.object() && values.object()->hasElements());
    if (isTuple ? used < values.list()->items.size() : used == 0 && !hasElements)
      return typeError("not all arguments converted during string formatting");
    return makeText(std::move(out), isMarkup);
  }

private:
  Result<Value> nextValue() {
    if (!values.list() || !values.list()->isTuple)
      return used++ == 0 ? Result<Value>(values) : typeError("not enough arguments for format string");
    if (used == values.list()->items.size())
      return typeError("not enough arguments for format string");
    return values.list()->items[used++];
  }

  Result<int64_t> readWhole() {
    if (place < text.size() && text[place] == '*') {
      ++place;
      HEDDLE_ASSIGN(Value value, nextValue());
      if (!value.integer())
        return typeError("* wants int");
      return std::clamp(*value.integer(), int64_t(-INT32_MAX), int64_t(INT32_MAX));
    }
    int64_t whole = 0;
    for (; place < text.size() && text[place] >= '0' && text[place] <= '9' && whole < INT32_MAX; ++place)
      whole = whole * 10 + (text[place] - '0');
    return whole;
  }

  Status readField() {
    ++place;
    std::optional<Value> named;
    if (place < text.size() && text[place] == '(') {
      size_t end = text.find(')', place);
      if (end == std::string::npos)
        return valueError("incomplete format key");
      if (!values.dict())
        return typeError("format requires a mapping");
      std::string name = text.substr(place + 1, end - place - 1);
      const Value *found = values.dict()->find(name);
      if (!found)
        return makeError(ErrorKind::InvalidArgument, "KeyError: ", reprOf(name));
      named = *found;
      place = end + 1;
    }
    FieldFormat format;
    for (; place < text.size() && std::string_view("#0- +").find(text[place]) != std::string_view::npos; ++place) {
      if (text[place] == '-')
        format.align = '<';
      else if (text[place] == '0')
        format.fill = format.align == '<' ? " " : "0";
      else if (text[place] == '#')
        format.isAlternate = true;
      else
        format.sign = text[place];
    }
    HEDDLE_ASSIGN(format.width, readWhole());
    if (format.width < 0) {
      format.align = '<';
      format.width = -format.width;
    }
    if (place < text.size() && text[place] == '.') {
      ++place;
      HEDDLE_ASSIGN(format.precision, readWhole());
    }
    if (place == text.size())
      return valueError("incomplete format");
    char type = text[place++];
    if (type == '%') {
      out += '%';
      return Success();
    }
    Value value;
    if (named) {
      value = *named;
      used = std::max<size_t>(used, 1);
    } else {
      HEDDLE_ASSIGN(value, nextValue());
    }
    return write(value, type, format);
  }

  Status write(Value value, char type, FieldFormat format) {
    if (type == 's' || type == 'r' || type == 'a') {
      bool isEscaped = isMarkup && !(value.text() && value.text()->isMarkup);
      std::string written = type == 's' ? textOf(value, environment.budget) : reprOf(value, environment.budget);
      value = makeText(isEscaped ? escapedForHtml(written) : written);
      format.type = 's';
      format.fill = " ";
    } else if (type == 'c') {
      format.type = 'c';
      format.fill = " ";
    } else if (std::string_view("diuxXoeEfFgG").find(type) != std::string_view::npos) {
      if (value.missing())
        return value.missing()->error();
      bool isReal = std::string_view("eEfFgG").find(type) != std::string_view::npos;
      if (!value.number() || (std::string_view("xXo").find(type) != std::string_view::npos && !value.integer()))
        return isReal
                   ? typeError("must be real number, not ", value.typeName())
                   : typeError("%", std::string(1, type), " format: a real number is required, not ", value.typeName());
      if (!isReal && value.real()) {
        if (!(std::fabs(*value.real()) < 9e18))
          return makeError(ErrorKind::InvalidArgument, "OverflowError: cannot convert float to integer");
        value = Value(int64_t(*value.real()));
      } else if (isReal) {
        value = Value(*value.number());
      }
      format.type = type == 'i' || type == 'u' ? 'd' : type;
      if (!isReal)
        format.precision = -1;
      format.align = format.fill == "0" ? '=' : format.align ? format.align : '>';
    } else {
      return valueError("unsupported format character '", std::string(1, type), "'");
    }
    if (!format.align)
      format.align = '>';
    HEDDLE_ASSIGN(std::string field, formatValue(value, format, environment));
    out += field;
    return Success();
  }

  const std::string &text;
  const Value &values;
  Environment &environment;
  bool isMarkup;
  size_t place = 0, used = 0;
  std::string out;
};

} // namespace

Result<Value> percentFormat(const Text &text, const Value &values, Environment &environment) {
  return PercentFormatter(text, values, environment).run();
}

} // namespace heddle::chat
