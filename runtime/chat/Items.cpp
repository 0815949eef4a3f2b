#include "runtime/chat/Items.h"

#include "runtime/chat/Methods.h"
#include "runtime/chat/Strings.h"
#include "runtime/chat/ValueText.h"

#include <algorithm>

namespace heddle::chat {
namespace {

// `obj[key]`. Returns nothing if Python raises an error that jinja2 treats as a missing element.
Result<std::optional<Value>> findElement(const Value &value, const Value &key) {
  if (value.missing())
    return value.missing()->error();
  if (const Dict *dict = value.dict()) {
    const Value *found = key.text() ? dict->find(key.text()->bytes) : dict->find(key);
    return found ? std::optional(*found) : std::nullopt;
  }
  if (const Object *object = value.object())
    return object->element(key);
  std::optional<int64_t> index = key.integer();
  const Text *text = value.text();
  const List *list = value.list();
  if (!index || (!text && !list))
    return std::optional<Value>();
  int64_t length = int64_t(text ? text->length : list->items.size());
  int64_t place = *index < 0 ? *index + length : *index;
  if (place < 0 || place >= length)
    return std::optional<Value>();
  if (list)
    return std::optional(list->items[size_t(place)]);
  return std::optional(makeText(characters(*text, size_t(place), size_t(place) + 1), text->isMarkup));
}

// A bound of a slice, clamped to the existing elements.
Result<int64_t> bound(const Value &value, int64_t otherwise, int64_t least, int64_t most, int64_t length) {
  if (value.isNone())
    return otherwise;
  if (value.missing())
    return value.missing()->error();
  std::optional<int64_t> whole = value.integer();
  if (!whole)
    return typeError("slice indices must be integers or None or have an __index__ method");
  return std::clamp(*whole < 0 ? *whole + length : *whole, least, most);
}

} // namespace

bool isIterable(const Value &value) {
  return value.text() || value.list() || value.dict() || value.missing() ||
         (value.object() && value.object()->isIterable());
}

Result<Values> itemsOf(const Value &value, Environment &environment) {
  if (value.missing())
    return Values();
  if (const List *list = value.list()) {
    environment.budget.spend(list->items.size());
    return list->items;
  }
  if (!isIterable(value))
    return typeError("'", value.typeName(), "' object is not iterable");
  size_t length = lengthIfAny(value).value_or(0);
  // Each character becomes a text of its own.
  HEDDLE_CHECK(environment.budget.room(length * (value.text() ? 2 * sizeof(Text) : sizeof(Value))));
  environment.budget.spend(length);
  Values items;
  items.reserve(length);
  if (const Dict *dict = value.dict()) {
    for (const auto &[key, held] : dict->entries())
      items.push_back(key);
  } else if (const Text *text = value.text()) {
    for (size_t begin = 0; begin < text->bytes.size();) {
      size_t bytes = characterBytes(text->bytes, begin);
      items.push_back(makeText(text->bytes.substr(begin, bytes)));
      begin += bytes;
    }
  } else {
    items = value.object()->take().value_or(Values());
  }
  return items;
}

std::optional<size_t> lengthIfAny(const Value &value) {
  if (const Text *text = value.text())
    return text->length;
  if (const List *list = value.list())
    return list->items.size();
  if (const Dict *dict = value.dict())
    return dict->entries().size();
  if (value.missing())
    return 0;
  return value.object() ? value.object()->length() : std::nullopt;
}

Result<int64_t> lengthOf(const Value &value) {
  if (std::optional<size_t> length = lengthIfAny(value))
    return int64_t(*length);
  return typeError("object of type '", value.typeName(), "' has no len()");
}

Result<std::optional<Value>> onlyAttribute(const Value &value, std::string_view name, Environment &environment) {
  if (value.missing())
    return value.missing()->error();
  if (value.object())
    return value.object()->attribute(environment, name);
  return methodOf(value, name);
}

Result<Value> attributeOf(const Value &value, std::string_view name, Environment &environment) {
  HEDDLE_ASSIGN(std::optional<Value> attribute, onlyAttribute(value, name, environment));
  if (attribute)
    return *attribute;
  if (const Dict *dict = value.dict()) {
    if (const Value *found = dict->find(name))
      return *found;
  } else if (value.object() && value.object()->hasElements()) {
    if (std::optional<Value> found = value.object()->element(makeText(std::string(name))))
      return *found;
  }
  return undefinedAttribute(value, name);
}

Result<Value> elementOf(const Value &value, const Value &key, Environment &environment) {
  HEDDLE_ASSIGN(std::optional<Value> element, findElement(value, key));
  if (!element && key.text()) {
    HEDDLE_ASSIGN(element, onlyAttribute(value, key.text()->bytes, environment));
  }
  return element ? *element : undefinedElement(value, key);
}

Result<Value> sliceOf(const Value &value, const Value &lower, const Value &upper, const Value &step,
                      Environment &environment) {
  if (value.missing())
    return value.missing()->error();
  if (value.dict())
    return typeError("unhashable type: 'slice'");
  const Text *text = value.text();
  const auto *range = as<Range>(value);
  if (!text && !value.list() && !range)
    return typeError("'", value.typeName(), "' object is not subscriptable");
  int64_t length = int64_t(*lengthIfAny(value)), stride = 1;
  if (!step.isNone()) {
    HEDDLE_ASSIGN(stride, bound(step, 1, INT64_MIN + 1, INT64_MAX, 0));
    if (stride == 0)
      return valueError("slice step cannot be zero");
    stride = std::clamp(stride, -length - 1, length + 1); // longer steps skip all elements, too
  }
  bool forwards = stride > 0;
  int64_t least = forwards ? 0 : -1, most = forwards ? length : length - 1;
  HEDDLE_ASSIGN(int64_t begin, bound(lower, forwards ? least : most, least, most, length));
  HEDDLE_ASSIGN(int64_t end, bound(upper, forwards ? most : least, least, most, length));
  if (range)
    return makeObject<Range>(range->start + begin * range->step, range->start + end * range->step,
                             range->step * stride);
  environment.budget.spend(uint64_t(length) / 64);
  if (text && stride == 1)
    return makeText(characters(*text, size_t(begin), size_t(std::max(begin, end))), text->isMarkup);
  size_t count = Range(begin, end, stride).count;
  HEDDLE_CHECK(environment.budget.room(count * sizeof(Value)));
  if (text) {
    std::vector<size_t> starts = characterStarts(text->bytes);
    std::string bytes;
    for (size_t i = 0; i < count; ++i) {
      size_t place = size_t(begin + int64_t(i) * stride);
      bytes += text->bytes.substr(starts[place], starts[place + 1] - starts[place]);
    }
    return makeText(std::move(bytes), text->isMarkup);
  }
  Values items;
  for (size_t i = 0; i < count; ++i)
    items.push_back(value.list()->items[size_t(begin + int64_t(i) * stride)]);
  return value.list()->isTuple ? makeTuple(std::move(items)) : makeList(std::move(items));
}

Result<Value> call(const Value &callee, Arguments arguments, Environment &environment) {
  if (callee.missing())
    return callee.missing()->error();
  if (callee.object())
    return callee.object()->call(environment, std::move(arguments));
  return typeError("'", callee.typeName(), "' object is not callable");
}

} // namespace heddle::chat
