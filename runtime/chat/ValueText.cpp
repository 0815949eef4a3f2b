#include "runtime/chat/ValueText.h"

#include "runtime/chat/Object.h"
#include "runtime/text/Unicode.h"
#include "runtime/text/Utf8.h"

#include <charconv>
#include <cmath>
#include <cstdio>

namespace heddle::chat {
namespace {

// Returns true if Python's repr() writes the character unescaped.
bool isPrintable(char32_t point) {
  if (point < 0x7F)
    return point >= ' ';
  static const uint32_t others = categoriesNamed("C") | categoriesNamed("Z");
  return !(categoryBit(point) & others);
}

void appendEscape(std::string &out, char32_t point) {
  char digits[16];
  const char *form = point < 0x100 ? "\\x%02x" : point < 0x10000 ? "\\u%04x" : "\\U%08x";
  out.append(digits, size_t(std::snprintf(digits, sizeof digits, form, unsigned(point))));
}

class Printer {
public:
  explicit Printer(Budget &budget) : budget(budget) {}

  void add(const Value &value) {
    if (!budget.spend(1) || !budget.hasRoom(out.size()))
      return;
    if (const Text *text = value.text()) {
      budget.spend(text->bytes.size() / 64);
      out += text->isMarkup ? "Markup(" + reprOf(text->bytes) + ")" : reprOf(text->bytes);
    } else if (const List *list = value.list()) {
      addList(*list);
    } else if (const Dict *dict = value.dict()) {
      addDict(*dict);
    } else if (value.missing()) {
      out += "Undefined";
    } else if (const Object *object = value.object()) {
      out += object->repr(budget);
    } else {
      out += numberText(value);
    }
  }

  std::string out;

private:
  void addList(const List &list) {
    out += list.isTuple ? '(' : '[';
    for (size_t i = 0; i < list.items.size(); ++i) {
      out += i == 0 ? "" : ", ";
      add(list.items[i]);
    }
    if (list.isTuple && list.items.size() == 1)
      out += ',';
    out += list.isTuple ? ')' : ']';
  }

  void addDict(const Dict &dict) {
    out += '{';
    for (const auto &[key, value] : dict.entries()) {
      out += out.back() == '{' && &key == &dict.entries().front().first ? "" : ", ";
      add(key);
      out += ": ";
      add(value);
    }
    out += '}';
  }

  Budget &budget;
};

} // namespace

std::string textOf(const Value &value, Budget &budget) {
  if (const Text *text = value.text())
    return text->bytes;
  return value.missing() ? std::string() : reprOf(value, budget);
}

std::string reprOf(const Value &value, Budget &budget) {
  Printer printer(budget);
  printer.add(value);
  return std::move(printer.out);
}

std::string reprOf(std::string_view text) {
  bool hasSingle = text.find('\'') != std::string_view::npos, hasDouble = text.find('"') != std::string_view::npos;
  char quote = hasSingle && !hasDouble ? '"' : '\'';
  std::string out(1, quote);
  while (!text.empty()) {
    auto [point, bytes] = firstCharacter(text);
    if (point == char32_t(quote) || point == '\\')
      (out += '\\') += char(point);
    else if (point == '\n' || point == '\r' || point == '\t')
      (out += '\\') += point == '\n' ? 'n' : point == '\r' ? 'r' : 't';
    else if (isPrintable(point))
      out += text.substr(0, bytes);
    else
      appendEscape(out, point);
    text.remove_prefix(bytes);
  }
  return out + quote;
}

std::string numberText(const Value &value) {
  if (value.isNone())
    return "None";
  if (const bool *flag = value.boolean())
    return *flag ? "True" : "False";
  return value.whole() ? std::to_string(*value.whole()) : realText(*value.real());
}

std::string realText(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  char buffer[32];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  std::string_view whole(buffer, size_t(end - buffer));
  std::string sign;
  if (whole.front() == '-') {
    sign = "-";
    whole.remove_prefix(1);
  }
  size_t mark = whole.find('e');
  int exponent = 0;
  std::string_view power = whole.substr(mark + (whole[mark + 1] == '+' ? 2 : 1));
  std::from_chars(power.data(), power.data() + power.size(), exponent);
  std::string digits(1, whole[0]);
  if (mark > 2)
    digits += whole.substr(2, mark - 2);
  // Python uses an exponent below 1e-4 and from 1e16 on.
  if (exponent < -4 || exponent >= 16) {
    std::string fraction = digits.size() > 1 ? "." + digits.substr(1) : "";
    std::string magnitude = std::to_string(std::abs(exponent));
    return sign + digits[0] + fraction + (exponent < 0 ? "e-" : "e+") + (magnitude.size() < 2 ? "0" : "") + magnitude;
  }
  if (exponent < 0)
    return sign + "0." + std::string(size_t(-exponent - 1), '0') + digits;
  size_t before = size_t(exponent) + 1;
  if (digits.size() <= before)
    return sign + digits + std::string(before - digits.size(), '0') + ".0";
  return sign + digits.substr(0, before) + "." + digits.substr(before);
}

std::string escapedForHtml(std::string_view text) {
  constexpr std::string_view kSpecial = "&<>\"'";
  constexpr const char *kEscapes[] = {"&amp;", "&lt;", "&gt;", "&#34;", "&#39;"};
  std::string out;
  for (char each : text)
    if (size_t special = kSpecial.find(each); special != std::string_view::npos)
      out += kEscapes[special];
    else
      out += each;
  return out;
}

} // namespace heddle::chat
