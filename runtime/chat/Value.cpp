#include "runtime/chat/Value.h"

#include "runtime/chat/Object.h"
#include "runtime/chat/Operators.h"
#include "runtime/chat/ValueText.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace heddle::chat {
namespace {

// Larger dictionaries have a hash table.
constexpr size_t kFewEntries = 8;

size_t countCodePoints(std::string_view bytes) {
  return size_t(std::count_if(bytes.begin(), bytes.end(), [](char byte) { return (uint8_t(byte) & 0xC0u) != 0x80u; }));
}

unsigned depthOf(const Values &items) {
  unsigned depth = 0;
  for (const Value &item : items)
    depth = std::max(depth, item.depth());
  return depth + 1;
}

} // namespace

Text::Text(std::string text, bool isMarkup)
    : Counted(sizeof(Text) + text.size()), bytes(std::move(text)), length(countCodePoints(bytes)), isMarkup(isMarkup) {}

List::List(Values values, bool isTuple)
    : Counted(sizeof(List) + values.size() * sizeof(Value)), items(std::move(values)), isTuple(isTuple),
      depth(depthOf(items)) {}

Error Missing::error() const {
  auto undefined = [](const auto &...parts) {
    return makeError(ErrorKind::InvalidArgument, "UndefinedError: ", parts...);
  };
  switch (form) {
  case Form::Name:
    return undefined("'", name, "' is undefined");
  case Form::Attribute:
    return undefined("'", owner, "' has no attribute ", reprOf(name));
  case Form::Element:
    return undefined(owner, " has no element ", name);
  case Form::Hint:
    return undefined(name);
  case Form::Unsafe:
    break;
  }
  return makeError(ErrorKind::InvalidArgument, "SecurityError: access to attribute ", reprOf(name), " of '", owner,
                   "' object is unsafe.");
}

std::shared_ptr<const Dict> Value::sharedDict() const {
  auto *pointer = std::get_if<std::shared_ptr<const Dict>>(&state);
  return pointer ? *pointer : nullptr;
}

std::optional<int64_t> Value::integer() const {
  if (const int64_t *value = whole())
    return *value;
  if (const bool *value = boolean())
    return int64_t(*value);
  return std::nullopt;
}

std::optional<double> Value::number() const {
  if (const double *value = real())
    return *value;
  if (std::optional<int64_t> value = integer())
    return double(*value);
  return std::nullopt;
}

bool Value::isSame(const Value &other) const {
  if (state.index() != other.state.index())
    return false;
  if (isNone())
    return true;
  if (const bool *value = boolean())
    return *value == *other.boolean();
  if (const int64_t *value = whole())
    return *value == *other.whole();
  if (const double *value = real())
    return *value == *other.real();
  return text() == other.text() && list() == other.list() && dict() == other.dict() && missing() == other.missing() &&
         object() == other.object();
}

unsigned Value::depth() const {
  if (const List *value = list())
    return value->depth;
  if (const Dict *value = dict())
    return value->depth();
  if (const Object *value = object())
    return value->depth();
  return 0;
}

std::string Value::typeName() const {
  if (isNone())
    return "NoneType";
  if (boolean())
    return "bool";
  if (whole())
    return "int";
  if (real())
    return "float";
  if (const Text *value = text())
    return value->isMarkup ? "Markup" : "str";
  if (const List *value = list())
    return value->isTuple ? "tuple" : "list";
  if (dict())
    return "dict";
  if (missing())
    return "Undefined";
  return object()->typeName();
}

std::string Value::describedType() const {
  if (isNone())
    return "None";
  if (text() && text()->isMarkup)
    return "markupsafe.Markup object";
  return (object() ? object()->module() : std::string()) + typeName() + " object";
}

Dict::Dict(std::vector<Entry> entries) : Counted(sizeof(Dict) + entries.size() * 2 * sizeof(Entry)) {
  pairs.reserve(entries.size());
  for (Entry &entry : entries) {
    size_t hash = hashOf(entry.first).value_or(0);
    if (const Entry *earlier = look(hash, [&](const Value &key) { return equalKeys(key, entry.first); })) {
      pairs[size_t(earlier - pairs.data())].second = std::move(entry.second);
      continue;
    }
    pairs.push_back(std::move(entry));
    if (!places.empty()) {
      places.emplace(hash, pairs.size() - 1);
    } else if (pairs.size() > kFewEntries) {
      for (size_t i = 0; i < pairs.size(); ++i)
        places.emplace(hashOf(pairs[i].first).value_or(0), i);
    }
  }
  for (const auto &[key, value] : pairs)
    deepest = std::max(deepest, 1 + std::max(key.depth(), value.depth()));
}

template <typename Equal> const Dict::Entry *Dict::look(size_t hash, Equal equal) const {
  if (places.empty()) {
    auto found = std::find_if(pairs.begin(), pairs.end(), [&](const Entry &entry) { return equal(entry.first); });
    return found == pairs.end() ? nullptr : &*found;
  }
  auto [begin, end] = places.equal_range(hash);
  for (auto place = begin; place != end; ++place)
    if (equal(pairs[place->second].first))
      return &pairs[place->second];
  return nullptr;
}

const Value *Dict::find(const Value &key) const {
  std::optional<size_t> hash = hashOf(key);
  const Entry *entry = hash ? look(*hash, [&](const Value &other) { return equalKeys(other, key); }) : nullptr;
  return entry ? &entry->second : nullptr;
}

const Value *Dict::find(std::string_view key) const {
  const Entry *entry = look(std::hash<std::string_view>()(key),
                            [&](const Value &other) { return other.text() && other.text()->bytes == key; });
  return entry ? &entry->second : nullptr;
}

Value makeText(std::string bytes, bool isMarkup) {
  return Value(std::shared_ptr<const Text>(std::make_shared<Text>(std::move(bytes), isMarkup)));
}

Value makeList(Values items) {
  return Value(std::shared_ptr<const List>(std::make_shared<List>(std::move(items), false)));
}

Value makeTuple(Values items) {
  return Value(std::shared_ptr<const List>(std::make_shared<List>(std::move(items), true)));
}

Value makeDict(std::vector<Dict::Entry> entries) {
  return Value(std::shared_ptr<const Dict>(std::make_shared<Dict>(std::move(entries))));
}

static Value makeMissing(Missing::Form form, std::string name, std::string owner = "") {
  return Value(std::shared_ptr<const Missing>(std::make_shared<Missing>(form, std::move(name), std::move(owner))));
}

Value undefinedName(std::string_view name) { return makeMissing(Missing::Form::Name, std::string(name)); }

Value undefinedAttribute(const Value &owner, std::string_view name) {
  return makeMissing(Missing::Form::Attribute, std::string(name), owner.describedType());
}

Value undefinedElement(const Value &owner, const Value &key) {
  if (key.text())
    return undefinedAttribute(owner, key.text()->bytes);
  // A key such as a list would be printed in full, which may be long.
  bool isShort = key.isNone() || key.number();
  return makeMissing(Missing::Form::Element, isShort ? numberText(key) : key.typeName(), owner.describedType());
}

Value undefinedBecause(std::string hint) { return makeMissing(Missing::Form::Hint, std::move(hint)); }

Value unsafeAttribute(const Value &owner, std::string_view name) {
  return makeMissing(Missing::Form::Unsafe, std::string(name), owner.typeName());
}

std::optional<size_t> hashOf(const Value &value) {
  if (const Text *text = value.text())
    return std::hash<std::string_view>()(text->bytes);
  if (std::optional<double> number = value.number()) // 1, 1.0 and true are the same key
    return std::hash<double>()(*number);
  if (value.isNone() || value.missing())
    return 1;
  if (const Object *object = value.object())
    return object->isHashable() ? std::optional(std::hash<const void *>()(object)) : std::nullopt;
  if (const List *list = value.list(); list && list->isTuple) {
    size_t hash = list->items.size();
    for (const Value &item : list->items) {
      // A nested tuple contributes only its length. With shared parts, few tuples can form exponentially many paths.
      bool isTuple = item.list() && item.list()->isTuple;
      std::optional<size_t> part = isTuple ? std::optional(item.list()->items.size()) : hashOf(item);
      if (!part)
        return std::nullopt;
      hash = hash * 1000003u + *part;
    }
    return hash;
  }
  return std::nullopt;
}

} // namespace heddle::chat
