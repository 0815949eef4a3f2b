#include "runtime/chat/JsonText.h"

#include "runtime/chat/Operators.h"
#include "runtime/chat/ValueText.h"
#include "runtime/text/Utf8.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace heddle::chat {
namespace {

class JsonPrinter {
public:
  JsonPrinter(const JsonStyle &style, Budget &budget) : style(style), budget(budget) {}

  Status add(const Value &value, size_t level) {
    HEDDLE_CHECK(budget.step());
    HEDDLE_CHECK(budget.room(out.size()));
    if (const Text *text = value.text()) {
      budget.spend(text->bytes.size() / 64);
      addText(text->bytes);
    } else if (value.isNone()) {
      out += "null";
    } else if (const bool *flag = value.boolean()) {
      out += *flag ? "true" : "false";
    } else if (value.number()) {
      out += number(value);
    } else if (const List *list = value.list()) {
      return addList(*list, level);
    } else if (const Dict *dict = value.dict()) {
      return addDict(*dict, level);
    } else {
      return typeError("Object of type ", value.typeName(), " is not JSON serializable");
    }
    return Success();
  }

  std::string out;

private:
  static std::string number(const Value &value) {
    const double *real = value.real();
    if (real && std::isnan(*real))
      return "NaN";
    if (real && std::isinf(*real))
      return *real < 0 ? "-Infinity" : "Infinity";
    return numberText(value);
  }

  void addEscape(uint32_t unit) {
    char digits[8];
    std::snprintf(digits, sizeof digits, "\\u%04x", unsigned(unit));
    out += digits;
  }

  void addText(std::string_view text) {
    out += '"';
    while (!text.empty()) {
      auto [point, bytes] = firstCharacter(text);
      constexpr std::string_view kMarked = "\"\\\n\r\t\f\b", kMarks = "\"\\nrtfb";
      size_t mark = point < 0x80 ? kMarked.find(char(point)) : std::string_view::npos;
      if (mark != std::string_view::npos) {
        (out += '\\') += kMarks[mark];
      } else if (point < 0x20 || (style.asciiOnly && point > 0x7E && point < 0x10000)) {
        addEscape(uint32_t(point));
      } else if (style.asciiOnly && point >= 0x10000) {
        addEscape(0xD800 + ((uint32_t(point) - 0x10000) >> 10u));
        addEscape(0xDC00 + ((uint32_t(point) - 0x10000) & 0x3FFu));
      } else {
        out += text.substr(0, bytes);
      }
      text.remove_prefix(bytes);
    }
    out += '"';
  }

  // Writes a line feed and the indentation, unless everything is on one line.
  Status addBreak(size_t level) {
    if (!style.indent)
      return Success();
    HEDDLE_CHECK(budget.room(out.size() + level * style.indent->size()));
    out += '\n';
    for (size_t i = 0; i < level; ++i)
      out += *style.indent;
    return Success();
  }

  Status addList(const List &list, size_t level) {
    out += '[';
    for (size_t i = 0; i < list.items.size(); ++i) {
      out += i == 0 ? "" : style.itemSeparator;
      HEDDLE_CHECK(addBreak(level + 1));
      HEDDLE_CHECK(add(list.items[i], level + 1));
    }
    if (!list.items.empty())
      HEDDLE_CHECK(addBreak(level));
    out += ']';
    return Success();
  }

  Status addDict(const Dict &dict, size_t level) {
    std::vector<const Dict::Entry *> entries;
    for (const Dict::Entry &entry : dict.entries())
      entries.push_back(&entry);
    if (style.sortsKeys)
      HEDDLE_CHECK(sortByKeys(entries));
    out += '{';
    for (size_t i = 0; i < entries.size(); ++i) {
      out += i == 0 ? "" : style.itemSeparator;
      HEDDLE_CHECK(addBreak(level + 1));
      const Value &key = entries[i]->first;
      if (const Text *text = key.text())
        addText(text->bytes);
      else if (key.isNone() || key.number())
        addText(key.isNone() ? "null" : key.boolean() ? (*key.boolean() ? "true" : "false") : number(key));
      else
        return typeError("keys must be str, int, float, bool or None, not ", key.typeName());
      out += style.keySeparator;
      HEDDLE_CHECK(add(entries[i]->second, level + 1));
    }
    if (!entries.empty())
      HEDDLE_CHECK(addBreak(level));
    out += '}';
    return Success();
  }

  Status sortByKeys(std::vector<const Dict::Entry *> &entries) {
    for (const Dict::Entry *entry : entries)
      HEDDLE_CHECK(compare(entry->first, entries[0]->first, "<", budget)); // fails unless all keys are comparable
    std::stable_sort(entries.begin(), entries.end(), [&](const Dict::Entry *left, const Dict::Entry *right) {
      if (left->first.text() && right->first.text())
        return left->first.text()->bytes < right->first.text()->bytes;
      return left->first.number().value_or(0) < right->first.number().value_or(0);
    });
    return Success();
  }

  const JsonStyle &style;
  Budget &budget;
};

} // namespace

Result<std::string> jsonText(const Value &value, const JsonStyle &style, Budget &budget) {
  JsonPrinter printer(style, budget);
  HEDDLE_CHECK(printer.add(value, 0));
  return std::move(printer.out);
}

Result<Value> valueOf(const nlohmann::ordered_json &json, unsigned level) {
  using Type = nlohmann::ordered_json::value_t;
  if (level > kDeepestValue)
    return makeError(ErrorKind::Unsupported, "the values nest more than ", kDeepestValue, " deep");
  switch (json.type()) {
  case Type::boolean:
    return Value(json.get<bool>());
  case Type::number_integer:
    return Value(json.get<int64_t>());
  case Type::number_unsigned:
    if (json.get<uint64_t>() > uint64_t(INT64_MAX))
      return makeError(ErrorKind::Unsupported, "the number ", json.get<uint64_t>(),
                       " does not fit into a whole number of 64 bits with a sign");
    return Value(json.get<int64_t>());
  case Type::number_float:
    return Value(json.get<double>());
  case Type::string:
    return makeText(replaceInvalidUtf8(json.get_ref<const std::string &>()));
  case Type::array: {
    Values items;
    items.reserve(json.size());
    for (const auto &item : json) {
      HEDDLE_ASSIGN(items.emplace_back(), valueOf(item, level + 1));
    }
    return makeList(std::move(items));
  }
  case Type::object: {
    std::vector<Dict::Entry> entries;
    entries.reserve(json.size());
    for (const auto &[key, item] : json.items()) {
      HEDDLE_ASSIGN(Value value, valueOf(item, level + 1));
      entries.emplace_back(makeText(replaceInvalidUtf8(key)), std::move(value));
    }
    return makeDict(std::move(entries));
  }
  default:
    return Value();
  }
}

} // namespace heddle::chat
