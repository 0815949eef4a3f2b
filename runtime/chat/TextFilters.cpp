// Filters that return texts.
#include "runtime/chat/Arguments.h"
#include "runtime/chat/Formatting.h"
#include "runtime/chat/Functions.h"
#include "runtime/chat/Items.h"
#include "runtime/chat/JsonText.h"
#include "runtime/chat/Keys.h"
#include "runtime/chat/Methods.h"
#include "runtime/chat/Operators.h"
#include "runtime/chat/Strings.h"
#include "runtime/chat/ValueText.h"
#include "runtime/text/Unicode.h"
#include "runtime/text/Utf8.h"

#include <algorithm>

namespace heddle::chat {
namespace {

// Converts a value to text; markup stays markup.
Value softText(const Value &value, Environment &environment) {
  return value.text() ? value : makeText(textOf(value, environment.budget));
}

bool isMarkup(const Value &value) { return value.text() && value.text()->isMarkup; }

template <auto change> Result<Value> changed(Environment &environment, const Value &value, Arguments &arguments) {
  HEDDLE_CHECK(Parameters::bind("filter", arguments, {}));
  return makeText(change(textOf(value, environment.budget)), isMarkup(value));
}

Result<Value> string(Environment &environment, const Value &value, Arguments &arguments) {
  HEDDLE_CHECK(Parameters::bind("string", arguments, {}));
  return softText(value, environment);
}

Result<Value> safe(Environment &environment, const Value &value, Arguments &) {
  return makeText(textOf(value, environment.budget), true);
}

Result<Value> escape(Environment &environment, const Value &value, Arguments &) {
  return isMarkup(value) ? value : makeText(escapedForHtml(textOf(value, environment.budget)), true);
}

Result<Value> forceEscape(Environment &environment, const Value &value, Arguments &) {
  return makeText(escapedForHtml(textOf(value, environment.budget)), true);
}

Result<Value> pretty(Environment &environment, const Value &value, Arguments &) {
  return makeText(reprOf(value, environment.budget));
}

Result<Value> trim(Environment &environment, const Value &value, Arguments &arguments) {
  HEDDLE_ASSIGN(Parameters given, Parameters::bind("trim", arguments, {"chars"}));
  Value text = softText(value, environment);
  bool hasSet = given[0] && !given[0]->isNone();
  if (hasSet)
    HEDDLE_CHECK(requireText(*given[0], "strip arg must be None or str"));
  return makeText(std::string(stripped(text.text()->bytes, hasSet ? &given[0]->text()->bytes : nullptr, Ends::Both)),
                  isMarkup(value));
}

Result<Value> replace(Environment &environment, const Value &value, Arguments &arguments) {
  HEDDLE_ASSIGN(Parameters given, Parameters::bind("replace", arguments, {"old", "new", "count"}, 2));
  HEDDLE_ASSIGN(int64_t count, given.wholeOrNone(2, -1));
  Budget &budget = environment.budget;
  HEDDLE_ASSIGN(std::string whole,
                replaced(textOf(value, budget), textOf(*given[0], budget), textOf(*given[1], budget), count, budget));
  return makeText(std::move(whole));
}

Result<Value> join(Environment &environment, const Value &value, Arguments &arguments) {
  HEDDLE_ASSIGN(Parameters given, Parameters::bind("join", arguments, {"d", "attribute"}));
  HEDDLE_ASSIGN(Values items, itemsOf(value, environment));
  std::string separator = given[0] ? textOf(*given[0], environment.budget) : "", whole;
  HEDDLE_ASSIGN(std::optional<KeyPath> path, KeyPath::parse(given[1]));
  for (size_t i = 0; i < items.size(); ++i) {
    Value item = items[i];
    if (path) {
      HEDDLE_ASSIGN(item, path->of(item, environment));
    }
    std::string text = textOf(item, environment.budget);
    HEDDLE_CHECK(environment.budget.room(whole.size() + separator.size() + text.size()));
    whole += i == 0 ? "" : separator;
    whole += text;
  }
  return makeText(std::move(whole));
}

// The filter `title` begins a word only after white space or one of -({[<. The method title() begins a word after any
// non-letter.
std::string titled(std::string_view text) {
  std::string out;
  bool beginsWord = true;
  for (size_t place = 0; place < text.size();) {
    size_t bytes = characterBytes(text, place);
    std::string_view character = text.substr(place, bytes);
    bool divides =
        whiteSpaceBytes(character) != 0 || std::string_view("-({[<").find(character) != std::string_view::npos;
    out += beginsWord ? upperCase(character) : lowerCaseOf(character);
    beginsWord = divides;
    place += bytes;
  }
  return out;
}

// An indentation given as a text, or as a number of spaces.
Result<std::string> indentationOf(const Parameters &given, size_t index, int64_t otherwise, Environment &environment) {
  if (given[index] && given[index]->text())
    return given[index]->text()->bytes;
  HEDDLE_ASSIGN(int64_t width, given.whole(index, otherwise));
  width = std::max(width, int64_t(0));
  HEDDLE_CHECK(environment.budget.room(uint64_t(width)));
  return std::string(size_t(width), ' ');
}

Result<Value> indent(Environment &environment, const Value &value, Arguments &arguments) {
  HEDDLE_ASSIGN(Parameters given, Parameters::bind("indent", arguments, {"width", "first", "blank"}));
  HEDDLE_ASSIGN(std::string indentation, indentationOf(given, 0, 4, environment));
  bool first = given.flag(1, false), blank = given.flag(2, false);
  if (!value.text())
    return value.missing() ? Result<Value>(value.missing()->error())
                           : typeError("unsupported operand type(s) for +=: '", value.typeName(), "' and 'str'");
  Text text(value.text()->bytes + "\n", false);
  HEDDLE_ASSIGN(Values lines, splitLines(text, false, environment));
  std::string whole;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string &line = lines[i].text()->bytes;
    HEDDLE_CHECK(environment.budget.room(whole.size() + indentation.size() + line.size() + 1));
    whole += i == 0 ? "" : "\n";
    if (i == 0 ? first : blank || !line.empty())
      whole += indentation;
    whole += line;
  }
  return makeText(std::move(whole), isMarkup(value));
}

Result<Value> truncate(Environment &environment, const Value &value, Arguments &arguments) {
  HEDDLE_ASSIGN(Parameters given, Parameters::bind("truncate", arguments, {"length", "killwords", "end", "leeway"}));
  HEDDLE_ASSIGN(int64_t length, given.whole(0, 255));
  length = std::max(length, int64_t(-1)); // too short for any text
  HEDDLE_ASSIGN(std::string end, given.text(2, "..."));
  HEDDLE_ASSIGN(int64_t leeway, given.wholeOrNone(3, 5));
  int64_t kept = length - int64_t(Text(end, false).length);
  if (kept < 0 || leeway < 0)
    return makeError(ErrorKind::InvalidArgument, "AssertionError: expected length >= ", end.size(), ", got ", length);
  HEDDLE_ASSIGN(int64_t present, lengthOf(value));
  if (present <= leeway || present - leeway <= length)
    return value;
  HEDDLE_CHECK(requireText(value, "truncate() takes a text"));
  const Text &text = *value.text();
  std::string cut = characters(text, 0, std::min(size_t(kept), text.length));
  if (!given.flag(1, false))
    if (size_t space = cut.rfind(' '); space != std::string::npos)
      cut.resize(space);
  return makeText(cut + end, text.isMarkup);
}

Result<Value> center(Environment &environment, const Value &value, Arguments &arguments) {
  HEDDLE_ASSIGN(Parameters given, Parameters::bind("center", arguments, {"width"}));
  HEDDLE_ASSIGN(int64_t width, given.whole(0, 80));
  HEDDLE_ASSIGN(std::string whole, padded(*softText(value, environment).text(), width, " ", Side::Middle, environment));
  return makeText(std::move(whole), isMarkup(value));
}

Result<Value> format(Environment &environment, const Value &value, Arguments &arguments) {
  if (!arguments.positional.empty() && !arguments.named.empty())
    return makeError(ErrorKind::InvalidArgument,
                     "FilterArgumentError: can't handle positional and keyword arguments at the same time");
  std::vector<Dict::Entry> entries;
  for (const auto &[name, each] : arguments.named)
    entries.emplace_back(makeText(name), each);
  Value values = arguments.named.empty() ? makeTuple(arguments.positional) : makeDict(std::move(entries));
  return percentFormat(*softText(value, environment).text(), values, environment);
}

Result<Value> tojson(Environment &environment, const Value &value, Arguments &arguments) {
  HEDDLE_ASSIGN(Parameters given,
                Parameters::bind("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"}));
  JsonStyle style;
  style.asciiOnly = given.flag(0, false);
  style.sortsKeys = given.flag(3, false);
  if (given[1] && !given[1]->isNone()) {
    HEDDLE_ASSIGN(style.indent, indentationOf(given, 1, 0, environment));
    style.itemSeparator = ",";
  }
  if (given[2] && !given[2]->isNone()) {
    HEDDLE_ASSIGN(Values separators, itemsOf(*given[2], environment));
    if (separators.size() != 2 || !separators[0].text() || !separators[1].text())
      return valueError("separators are two texts, such as (',', ':')");
    style.itemSeparator = separators[0].text()->bytes;
    style.keySeparator = separators[1].text()->bytes;
  }
  HEDDLE_ASSIGN(std::string json, jsonText(value, style, environment.budget));
  return makeText(std::move(json));
}

Result<Value> wordcount(Environment &environment, const Value &value, Arguments &) {
  int64_t count = 0;
  bool inWord = false;
  for (char32_t point : codePoints(textOf(value, environment.budget))) {
    bool isWord = point == '_' || isLetter(point) || isNumber(point);
    count += int64_t(isWord && !inWord);
    inWord = isWord;
  }
  return Value(count);
}

constexpr NamedFilter kFilters[] = {{"capitalize", changed<capitalized>},
                                    {"center", center},
                                    {"e", escape},
                                    {"escape", escape},
                                    {"forceescape", forceEscape},
                                    {"format", format},
                                    {"indent", indent},
                                    {"join", join},
                                    {"lower", changed<lowerCaseOf>},
                                    {"pprint", pretty},
                                    {"replace", replace},
                                    {"safe", safe},
                                    {"string", string},
                                    {"title", changed<titled>},
                                    {"tojson", tojson},
                                    {"trim", trim},
                                    {"truncate", truncate},
                                    {"upper", changed<upperCase>},
                                    {"wordcount", wordcount}};

} // namespace

std::span<const NamedFilter> textFilters() { return kFilters; }

} // namespace heddle::chat
