// `text.format(...)`: fields such as {}, {0}, {name.attribute[key]!r:>8}.
#include "runtime/chat/Formatting.h"
#include "runtime/chat/Items.h"
#include "runtime/chat/Strings.h"
#include "runtime/chat/ValueText.h"

#include <algorithm>
#include <charconv>

namespace heddle::chat {
namespace {

bool isWhole(std::string_view text) {
  return !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

int64_t wholeOf(std::string_view text) {
  int64_t whole = 0;
  std::from_chars(text.data(), text.data() + text.size(), whole);
  return whole;
}

class BraceFormatter {
public:
  BraceFormatter(const Arguments &arguments, Environment &environment)
      : arguments(arguments), environment(environment) {}

  // A format specification may contain fields itself, one level deep.
  Result<std::string> expand(std::string_view text, bool isNested) {
    std::string out;
    for (size_t i = 0; i < text.size();) {
      if (text[i] != '{' && text[i] != '}') {
        out += text[i++];
        continue;
      }
      if (i + 1 < text.size() && text[i + 1] == text[i]) {
        out += text[i];
        i += 2;
        continue;
      }
      if (text[i] == '}')
        return valueError("Single '}' encountered in format string");
      size_t end = fieldEnd(text, i);
      if (end == std::string_view::npos)
        return valueError("expected '}' before end of string");
      if (isNested)
        return valueError("Max string recursion exceeded");
      HEDDLE_ASSIGN(std::string field, writeField(text.substr(i + 1, end - i - 1)));
      HEDDLE_CHECK(environment.budget.room(out.size() + field.size()));
      out += field;
      i = end + 1;
    }
    return out;
  }

private:
  static size_t fieldEnd(std::string_view text, size_t open) {
    int depth = 0;
    for (size_t i = open; i < text.size(); ++i) {
      depth += text[i] == '{' ? 1 : text[i] == '}' ? -1 : 0;
      if (depth == 0)
        return i;
    }
    return std::string_view::npos;
  }

  Result<std::string> writeField(std::string_view field) {
    size_t nameEnd = std::min(field.find_first_of("!:"), field.size());
    HEDDLE_ASSIGN(Value value, look(field.substr(0, nameEnd)));
    field.remove_prefix(nameEnd);
    if (field.starts_with('!')) {
      char conversion = field.size() > 1 ? field[1] : 0;
      if (conversion != 'r' && conversion != 's' && conversion != 'a')
        return valueError("Unknown conversion specifier");
      value = makeText(conversion == 's' ? textOf(value, environment.budget) : reprOf(value, environment.budget));
      field.remove_prefix(2);
    }
    if (!field.empty() && field[0] != ':')
      return valueError("expected ':' after conversion specifier");
    if (field.size() < 2)
      return textOf(value, environment.budget);
    HEDDLE_ASSIGN(std::string spec, expandSpec(field.substr(1)));
    if (value.missing() || value.isNone() || value.list() || value.dict() || value.object())
      return typeError("unsupported format string passed to ", value.typeName(), ".__format__");
    HEDDLE_ASSIGN(FieldFormat format, readSpec(spec, value));
    return formatValue(value, format, environment);
  }

  Result<std::string> expandSpec(std::string_view spec) {
    if (spec.find('{') == std::string_view::npos)
      return std::string(spec);
    std::string out;
    for (size_t i = 0; i < spec.size(); ++i) {
      if (spec[i] != '{') {
        out += spec[i];
        continue;
      }
      size_t end = std::min(spec.find('}', i), spec.size());
      HEDDLE_ASSIGN(Value value, look(spec.substr(i + 1, end - i - 1)));
      out += textOf(value, environment.budget);
      i = end;
    }
    return out;
  }

  // {} is numbered automatically, {0} is a position, {name} a named argument. `.attribute` and `[key]` may follow.
  Result<Value> look(std::string_view path) {
    size_t end = std::min(path.find_first_of(".["), path.size());
    std::string_view first = path.substr(0, end);
    Value value;
    if (first.empty() || isWhole(first)) {
      uint64_t index = first.empty() ? automatic++ : uint64_t(wholeOf(first));
      if (index >= arguments.positional.size())
        return makeError(ErrorKind::InvalidArgument, "IndexError: tuple index out of range");
      value = arguments.positional[index];
    } else {
      auto found = std::find_if(arguments.named.begin(), arguments.named.end(),
                                [&](const auto &each) { return each.first == first; });
      if (found == arguments.named.end())
        return makeError(ErrorKind::InvalidArgument, "KeyError: ", reprOf(first));
      value = found->second;
    }
    path.remove_prefix(end);
    while (!path.empty()) {
      bool isItem = path[0] == '[';
      size_t stop = isItem ? path.find(']') : std::min(path.find_first_of(".[", 1), path.size());
      if (stop == std::string_view::npos)
        return valueError("Missing ']' in format string");
      std::string_view name = path.substr(1, stop - 1);
      if (isItem) {
        HEDDLE_ASSIGN(
            value, elementOf(value, isWhole(name) ? Value(wholeOf(name)) : makeText(std::string(name)), environment));
      } else {
        HEDDLE_ASSIGN(value, attributeOf(value, name, environment));
      }
      path.remove_prefix(stop + (isItem ? 1 : 0));
    }
    return value;
  }

  // [[fill]align][sign][#][0][width][,][.precision][type]
  static Result<FieldFormat> readSpec(std::string_view spec, const Value &value) {
    FieldFormat format;
    auto isAlign = [](char each) { return each == '<' || each == '>' || each == '^' || each == '='; };
    size_t fill = spec.empty() ? 0 : characterBytes(spec, 0);
    if (fill < spec.size() && isAlign(spec[fill])) {
      format.fill = spec.substr(0, fill);
      format.align = spec[fill];
      spec.remove_prefix(fill + 1);
    } else if (!spec.empty() && isAlign(spec[0])) {
      format.align = spec[0];
      spec.remove_prefix(1);
    }
    auto skip = [&](std::string_view marks) -> char {
      if (spec.empty() || marks.find(spec[0]) == std::string_view::npos)
        return 0;
      char found = spec[0];
      spec.remove_prefix(1);
      return found;
    };
    auto whole = [&](int64_t otherwise) {
      size_t end = std::min({spec.find_first_not_of("0123456789"), spec.size(), size_t(9)});
      int64_t number = end == 0 ? otherwise : wholeOf(spec.substr(0, end));
      spec.remove_prefix(end);
      return number;
    };
    if (char sign = skip("+- "))
      format.sign = sign;
    format.isAlternate = skip("#") != 0;
    if (skip("0") && !format.align) {
      format.fill = "0";
      format.align = value.number() ? '=' : '<';
    }
    format.width = whole(0);
    if (char separator = skip(",_")) {
      format.hasCommas = true;
      format.separator = separator;
    }
    if (skip("."))
      format.precision = whole(0);
    format.type = skip("sdnxXobceEfFgG%");
    if (!spec.empty())
      return valueError("Invalid format specifier");
    return format;
  }

  const Arguments &arguments;
  Environment &environment;
  uint64_t automatic = 0;
};

} // namespace

Result<Value> braceFormat(const Text &text, const Arguments &arguments, Environment &environment) {
  HEDDLE_ASSIGN(std::string whole, BraceFormatter(arguments, environment).expand(text.bytes, false));
  return makeText(std::move(whole));
}

} // namespace heddle::chat
