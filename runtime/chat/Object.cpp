#include "runtime/chat/Object.h"

#include "runtime/chat/Operators.h"
#include "runtime/chat/ValueText.h"

#include <algorithm>

namespace heddle::chat {

Environment::~Environment() {
  for (const std::shared_ptr<Namespace> &each : namespaces)
    each->clear();
}

std::string Object::repr(Budget &) const { return "<" + module() + typeName() + " object>"; }

Result<std::optional<Value>> Object::attribute(Environment &, std::string_view) { return std::optional<Value>(); }

std::optional<Value> Object::element(const Value &) const { return std::nullopt; }

Result<Value> Object::call(Environment &, Arguments) { return typeError("'", typeName(), "' object is not callable"); }

std::string Namespace::repr(Budget &budget) const {
  if (std::exchange(isPrinted, true)) // the namespace contains itself
    return "<Namespace ...>";
  std::vector<Dict::Entry> entries;
  for (const auto &[name, value] : attributes)
    entries.emplace_back(makeText(name), value);
  std::string text = "<Namespace " + reprOf(makeDict(std::move(entries)), budget) + ">";
  isPrinted = false;
  return text;
}

Result<std::optional<Value>> Namespace::attribute(Environment &, std::string_view name) {
  const Value *value = find(name);
  return value ? std::optional(*value) : std::nullopt;
}

std::optional<Value> Namespace::element(const Value &key) const {
  const Value *value = key.text() ? find(key.text()->bytes) : nullptr;
  return value ? std::optional(*value) : std::nullopt;
}

const Value *Namespace::find(std::string_view name) const {
  auto found = std::find_if(attributes.begin(), attributes.end(), [&](const auto &each) { return each.first == name; });
  return found == attributes.end() ? nullptr : &found->second;
}

void Namespace::set(std::string_view name, Value value) {
  for (auto &[present, old] : attributes)
    if (present == name) {
      old = std::move(value);
      return;
    }
  attributes.emplace_back(name, std::move(value));
}

static size_t countOf(int64_t start, int64_t stop, int64_t step) {
  if (step > 0 ? start >= stop : start <= stop)
    return 0;
  uint64_t distance = step > 0 ? uint64_t(stop) - uint64_t(start) : uint64_t(start) - uint64_t(stop);
  uint64_t stride = step > 0 ? uint64_t(step) : uint64_t(0) - uint64_t(step);
  return size_t((distance - 1) / stride + 1);
}

Range::Range(int64_t start, int64_t stop, int64_t step)
    : Object(sizeof(Range)), start(start), stop(stop), step(step), count(countOf(start, stop, step)) {}

std::string Range::repr(Budget &) const {
  return step == 1 ? str("range(", start, ", ", stop, ")") : str("range(", start, ", ", stop, ", ", step, ")");
}

std::optional<Value> Range::element(const Value &key) const {
  std::optional<int64_t> index = key.integer();
  if (!index)
    return std::nullopt;
  int64_t place = *index < 0 ? *index + int64_t(count) : *index;
  if (place < 0 || place >= int64_t(count))
    return std::nullopt;
  return Value(start + place * step);
}

std::optional<Values> Range::take() {
  Values items;
  for (size_t i = 0; i < count; ++i)
    items.emplace_back(start + int64_t(i) * step);
  return items;
}

std::string View::typeName() const {
  return kind == Kind::Items ? "dict_items" : kind == Kind::Keys ? "dict_keys" : "dict_values";
}

std::string View::repr(Budget &budget) const { return typeName() + "(" + reprOf(makeList(items()), budget) + ")"; }

Values View::items() const {
  chat::Values items;
  for (const auto &[key, value] : dict->entries())
    items.push_back(kind == Kind::Items ? makeTuple({key, value}) : kind == Kind::Keys ? key : value);
  return items;
}

Iterator::Iterator(Values values, std::string type)
    : Object(sizeof(Iterator) + values.size() * sizeof(Value)), items(std::move(values)), type(std::move(type)),
      deepest(1) {
  for (const Value &item : items)
    deepest = std::max(deepest, 1 + item.depth());
}

std::optional<Values> Iterator::take() {
  Values rest(items.begin() + std::ptrdiff_t(position), items.end());
  items.clear();
  position = 0;
  return rest;
}

std::optional<Value> Iterator::next() {
  return position == items.size() ? std::nullopt : std::optional(items[position++]);
}

} // namespace heddle::chat
