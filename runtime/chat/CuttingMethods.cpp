// Methods of texts that cut, join, search and replace.
#include "runtime/chat/Arguments.h"
#include "runtime/chat/Items.h"
#include "runtime/chat/Methods.h"
#include "runtime/chat/Strings.h"
#include "runtime/text/Utf8.h"

#include <algorithm>

namespace heddle::chat {
namespace {

// The memory of a piece, which is a value of its own.
constexpr size_t kPieceBytes = sizeof(Text) + sizeof(Value) + 16;

Values pieces(const std::vector<std::string_view> &parts) {
  Values values;
  values.reserve(parts.size());
  for (std::string_view part : parts)
    values.push_back(makeText(std::string(part)));
  return values;
}

// The words of a text. After `most` cuts the rest is a single part that keeps its white space.
std::vector<std::string_view> words(std::string_view text, uint64_t most) {
  std::vector<std::string_view> parts;
  while (true) {
    text = stripped(text, nullptr, Ends::Left);
    if (text.empty())
      return parts;
    if (parts.size() == most) {
      parts.push_back(text);
      return parts;
    }
    size_t end = 0;
    while (end < text.size() && whiteSpaceBytes(text.substr(end)) == 0)
      end += characterBytes(text, end);
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

// The beginning of the white space that ends at `end`; `end` if there is none.
size_t spaceBefore(std::string_view text, size_t end) {
  return stripped(text.substr(0, end), nullptr, Ends::Right).size();
}

std::vector<std::string_view> wordsFromRight(std::string_view text, uint64_t most) {
  std::vector<std::string_view> parts;
  while (true) {
    text = stripped(text, nullptr, Ends::Right);
    if (text.empty())
      break;
    if (parts.size() == most) {
      parts.push_back(text);
      break;
    }
    size_t begin = text.size();
    while (begin > 0 && spaceBefore(text, begin) == begin) {
      --begin;
      while (begin > 0 && (uint8_t(text[begin]) & 0xC0u) == 0x80u)
        --begin;
    }
    parts.push_back(text.substr(begin));
    text = text.substr(0, begin);
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

template <bool fromRight> Result<Value> splitMethod(Environment &environment, const Text &self, Arguments &arguments) {
  HEDDLE_ASSIGN(Parameters given, Parameters::bind(fromRight ? "rsplit" : "split", arguments, {"sep", "maxsplit"}));
  HEDDLE_ASSIGN(int64_t most, given.whole(1, -1));
  HEDDLE_ASSIGN(Values parts, split(self, given.valueOr(0, Value()), most, fromRight, environment));
  return makeList(std::move(parts));
}

Result<Value> splitlinesMethod(Environment &environment, const Text &self, Arguments &arguments) {
  HEDDLE_ASSIGN(Parameters given, Parameters::bind("splitlines", arguments, {"keepends"}));
  HEDDLE_ASSIGN(Values lines, splitLines(self, given.flag(0, false), environment));
  return makeList(std::move(lines));
}

template <bool fromRight> Result<Value> partitionMethod(Environment &, const Text &self, Arguments &arguments) {
  HEDDLE_ASSIGN(Parameters given, Parameters::bind("partition", arguments, {"sep"}, 1));
  HEDDLE_ASSIGN(std::string separator, given.text(0, ""));
  if (separator.empty())
    return valueError("empty separator");
  size_t found = fromRight ? findLastText(self.bytes, separator) : findText(self.bytes, separator, 0);
  std::string_view text = self.bytes;
  if (found == std::string::npos)
    return makeTuple(fromRight ? pieces({"", "", text}) : pieces({text, "", ""}));
  return makeTuple(pieces({text.substr(0, found), separator, text.substr(found + separator.size())}));
}

Result<Value> joinMethod(Environment &environment, const Text &self, Arguments &arguments) {
  HEDDLE_ASSIGN(Parameters given, Parameters::bind("join", arguments, {"iterable"}, 1));
  if (given[0]->missing())
    return makeText("");
  if (!isIterable(*given[0]))
    return typeError("can only join an iterable");
  HEDDLE_ASSIGN(Values items, itemsOf(*given[0], environment));
  std::string whole;
  for (size_t i = 0; i < items.size(); ++i) {
    const Text *item = items[i].text();
    if (!item)
      return typeError("sequence item ", i, ": expected str instance, ", items[i].typeName(), " found");
    HEDDLE_CHECK(environment.budget.room(whole.size() + self.bytes.size() + item->bytes.size()));
    whole += i == 0 ? "" : self.bytes;
    whole += item->bytes;
  }
  return makeText(std::move(whole));
}

// The byte range of a text that is searched. searchedRange() returns nothing if it begins after the text's end.
struct Range {
  size_t begin, end;
};
Result<std::optional<Range>> searchedRange(const Text &self, const Parameters &given) {
  int64_t length = int64_t(self.length);
  auto bound = [&](size_t index, int64_t otherwise) -> Result<int64_t> {
    if (!given[index] || given[index]->isNone())
      return otherwise;
    HEDDLE_ASSIGN(int64_t place, given.whole(index, 0));
    return place < 0 ? std::max(place + length, int64_t(0)) : place;
  };
  HEDDLE_ASSIGN(int64_t begin, bound(1, 0));
  HEDDLE_ASSIGN(int64_t end, bound(2, length));
  end = std::min(end, length);
  if (begin > end)
    return std::optional<Range>();
  size_t first = characters(self, 0, size_t(begin)).size();
  return std::optional(Range{first, first + characters(self, size_t(begin), size_t(end)).size()});
}

// find(), rfind(), index() and rindex(). The latter two fail if there is no such part.
template <bool fromRight, bool mayFail>
Result<Value> findMethod(Environment &, const Text &self, Arguments &arguments) {
  constexpr const char *name = fromRight ? (mayFail ? "rindex" : "rfind") : mayFail ? "index" : "find";
  HEDDLE_ASSIGN(Parameters given, Parameters::bind(name, arguments, {"sub", "start", "end"}, 1));
  HEDDLE_CHECK(requireText(*given[0], "must be str"));
  const std::string &part = given[0]->text()->bytes;
  HEDDLE_ASSIGN(std::optional<Range> range, searchedRange(self, given));
  size_t found = std::string::npos;
  if (range) {
    std::string_view searched = std::string_view(self.bytes).substr(range->begin, range->end - range->begin);
    found = fromRight ? findLastText(searched, part) : findText(searched, part, 0);
  }
  if (found != std::string::npos)
    return Value(int64_t(charactersBefore(self, range->begin + found)));
  return mayFail ? Result<Value>(valueError("substring not found")) : Value(int64_t(-1));
}

Result<Value> countMethod(Environment &, const Text &self, Arguments &arguments) {
  HEDDLE_ASSIGN(Parameters given, Parameters::bind("count", arguments, {"sub", "start", "end"}, 1));
  HEDDLE_ASSIGN(std::string part, given.text(0, ""));
  HEDDLE_ASSIGN(std::optional<Range> range, searchedRange(self, given));
  if (!range)
    return Value(int64_t(0));
  if (part.empty())
    return Value(int64_t(charactersBefore(self, range->end) - charactersBefore(self, range->begin)) + 1);
  int64_t number = 0;
  std::string_view searched = std::string_view(self.bytes).substr(0, range->end);
  for (size_t place = range->begin; (place = findText(searched, part, place)) != std::string::npos;
       place += part.size())
    ++number;
  return Value(number);
}

// startswith() and endswith(). The argument is a text or a tuple of texts.
template <bool atEnd> Result<Value> meets(Environment &, const Text &self, Arguments &arguments) {
  const char *name = atEnd ? "endswith" : "startswith";
  HEDDLE_ASSIGN(Parameters given, Parameters::bind(name, arguments, {"prefix", "start", "end"}, 1));
  HEDDLE_ASSIGN(std::optional<Range> range, searchedRange(self, given));
  const List *several = given[0]->list();
  if (given[0]->missing())
    return given[0]->missing()->error();
  if (!given[0]->text() && (!several || !several->isTuple))
    return typeError(name, " first arg must be str or a tuple of str, not ", given[0]->typeName());
  Values parts = several ? several->items : Values{*given[0]};
  bool found = false;
  for (const Value &part : parts) {
    if (!part.text())
      return typeError("tuple for ", name, " must only contain str, not ", part.typeName());
    std::string_view searched =
        range ? std::string_view(self.bytes).substr(range->begin, range->end - range->begin) : "";
    found |= range && (atEnd ? searched.ends_with(part.text()->bytes) : searched.starts_with(part.text()->bytes));
  }
  return Value(found);
}

Result<Value> replaceMethod(Environment &environment, const Text &self, Arguments &arguments) {
  HEDDLE_ASSIGN(Parameters given, Parameters::bind("replace", arguments, {"old", "new", "count"}, 2));
  HEDDLE_ASSIGN(std::string old, given.text(0, ""));
  HEDDLE_ASSIGN(std::string fresh, given.text(1, ""));
  HEDDLE_ASSIGN(int64_t count, given.whole(2, -1));
  HEDDLE_ASSIGN(std::string whole, replaced(self.bytes, old, fresh, count, environment.budget));
  return makeText(std::move(whole));
}

template <bool atEnd> Result<Value> without(Environment &, const Text &self, Arguments &arguments) {
  HEDDLE_ASSIGN(Parameters given, Parameters::bind(atEnd ? "removesuffix" : "removeprefix", arguments, {"part"}, 1));
  HEDDLE_ASSIGN(std::string part, given.text(0, ""));
  std::string_view text = self.bytes;
  if (atEnd && text.ends_with(part))
    text.remove_suffix(part.size());
  else if (!atEnd && text.starts_with(part))
    text.remove_prefix(part.size());
  return makeText(std::string(text));
}

constexpr NamedMethod kMethods[] = {{"count", countMethod},
                                    {"endswith", meets<true>},
                                    {"find", findMethod<false, false>},
                                    {"index", findMethod<false, true>},
                                    {"join", joinMethod},
                                    {"partition", partitionMethod<false>},
                                    {"removeprefix", without<false>},
                                    {"removesuffix", without<true>},
                                    {"replace", replaceMethod},
                                    {"rfind", findMethod<true, false>},
                                    {"rindex", findMethod<true, true>},
                                    {"rpartition", partitionMethod<true>},
                                    {"rsplit", splitMethod<true>},
                                    {"split", splitMethod<false>},
                                    {"splitlines", splitlinesMethod},
                                    {"startswith", meets<false>}};

} // namespace

std::span<const NamedMethod> cuttingMethods() { return kMethods; }

// The parts. With `fromRight`, the text is read backwards in one pass, and the last part comes first.
static std::vector<std::string_view> cutAt(std::string_view text, std::string_view mark, uint64_t cuts,
                                           bool fromRight) {
  std::string backwards(fromRight ? std::string(text.rbegin(), text.rend()) : std::string());
  std::string reversed(fromRight ? std::string(mark.rbegin(), mark.rend()) : std::string());
  std::string_view searched = fromRight ? backwards : text, looked = fromRight ? reversed : mark;
  std::vector<std::string_view> parts;
  auto add = [&](size_t begin, size_t end) {
    parts.push_back(text.substr(fromRight ? text.size() - end : begin, end - begin));
  };
  size_t begin = 0;
  while (parts.size() < cuts) {
    size_t found = findText(searched, looked, begin);
    if (found == std::string::npos)
      break;
    add(begin, found);
    begin = found + mark.size();
  }
  add(begin, text.size());
  if (fromRight)
    std::reverse(parts.begin(), parts.end());
  return parts;
}

Result<Values> split(const Text &text, const Value &separator, int64_t most, bool fromRight, Environment &environment) {
  uint64_t cuts = most < 0 ? UINT64_MAX : uint64_t(most);
  HEDDLE_CHECK(environment.budget.room(text.bytes.size() * sizeof(std::string_view)));
  std::vector<std::string_view> parts;
  if (separator.isNone()) {
    parts = fromRight ? wordsFromRight(text.bytes, cuts) : words(text.bytes, cuts);
  } else {
    HEDDLE_CHECK(requireText(separator, "must be str or None"));
    if (separator.text()->bytes.empty())
      return valueError("empty separator");
    parts = cutAt(text.bytes, separator.text()->bytes, cuts, fromRight);
  }
  HEDDLE_CHECK(environment.budget.room(parts.size() * kPieceBytes));
  return pieces(parts);
}

Result<Values> splitLines(const Text &text, bool keepsEnds, Environment &environment) {
  // A line may be empty except for its line end.
  HEDDLE_CHECK(environment.budget.room(text.bytes.size() * sizeof(std::string_view)));
  // \n, \r, \r\n, and Python's other line ends.
  auto endBytes = [&](std::string_view rest) -> size_t {
    if (rest.starts_with("\r\n"))
      return 2;
    auto [point, bytes] = firstCharacter(rest);
    bool isEnd = (point >= '\n' && point <= '\r') || (point >= 0x1C && point <= 0x1E) || point == 0x85 ||
                 point == 0x2028 || point == 0x2029;
    return isEnd ? bytes : 0;
  };
  std::vector<std::string_view> lines;
  std::string_view all = text.bytes;
  size_t begin = 0, place = 0;
  while (place < all.size()) {
    size_t end = endBytes(all.substr(place));
    if (end == 0) {
      place += characterBytes(all, place);
      continue;
    }
    lines.push_back(all.substr(begin, place - begin + (keepsEnds ? end : 0)));
    begin = place += end;
  }
  if (begin < all.size())
    lines.push_back(all.substr(begin));
  HEDDLE_CHECK(environment.budget.room(lines.size() * kPieceBytes));
  return pieces(lines);
}

} // namespace heddle::chat
