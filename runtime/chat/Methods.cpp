#include "runtime/chat/Methods.h"

#include "runtime/chat/Arguments.h"
#include "runtime/chat/Items.h"
#include "runtime/chat/Operators.h"
#include "runtime/chat/ValueText.h"

#include <algorithm>
#include <cmath>

namespace heddle::chat {
namespace {

// Methods that change their list or dictionary.
constexpr std::string_view kChangesList[] = {"append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"};
constexpr std::string_view kChangesDict[] = {"clear", "pop", "popitem", "setdefault", "update"};
// Members of every Python value that templates may not access.
constexpr std::string_view kInternal[] = {"__class__",  "__init__",   "__doc__",         "__eq__",  "__dir__",
                                          "__hash__",   "__new__",    "__repr__",        "__str__", "__sizeof__",
                                          "__reduce__", "__format__", "__getattribute__"};

template <size_t N> bool isIn(const std::string_view (&names)[N], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

Value function(std::string_view name, const Value &self, Function::Body body) {
  return makeObject<Function>(std::string(name), std::move(body), self.depth());
}

// String methods of a markup text return markup.
Value asMarkup(Value value) {
  if (const Text *text = value.text())
    return makeText(text->bytes, true);
  if (const List *list = value.list()) {
    Values items;
    for (const Value &item : list->items)
      items.push_back(asMarkup(item));
    return list->isTuple ? makeTuple(std::move(items)) : makeList(std::move(items));
  }
  return value;
}

Result<Value> callTextMethod(TextMethod method, const Value &self, Environment &environment, Arguments &arguments) {
  environment.budget.spend(self.text()->bytes.size() / 64);
  HEDDLE_ASSIGN(Value result, method(environment, *self.text(), arguments));
  return self.text()->isMarkup ? asMarkup(std::move(result)) : result;
}

std::optional<Value> textMethod(const Value &value, std::string_view name) {
  for (std::span<const NamedMethod> methods : {cuttingMethods(), otherMethods()})
    for (const NamedMethod &each : methods)
      if (each.name == name)
        return function(name, value, [value, method = each.method](Environment &environment, Arguments &arguments) {
          return callTextMethod(method, value, environment, arguments);
        });
  return std::nullopt;
}

// index() and count() of a list or a tuple.
Result<Value> searchList(const List &list, bool counts, Environment &environment, Arguments &arguments) {
  HEDDLE_ASSIGN(Parameters given,
                Parameters::bind(counts ? "count" : "index", arguments, {"value", "start", "stop"}, 1));
  int64_t size = int64_t(list.items.size()), found = 0;
  HEDDLE_ASSIGN(int64_t start, given.whole(1, 0));
  HEDDLE_ASSIGN(int64_t stop, given.whole(2, size));
  start = std::clamp(start < 0 ? start + size : start, int64_t(0), size);
  stop = std::clamp(stop < 0 ? stop + size : stop, int64_t(0), size);
  for (int64_t i = start; i < stop; ++i) {
    if (!equal(list.items[size_t(i)], *given[0], environment.budget))
      continue;
    if (!counts)
      return Value(i);
    ++found;
  }
  if (!counts)
    return list.isTuple ? valueError("tuple.index(x): x not in tuple")
                        : valueError(reprOf(*given[0], environment.budget), " is not in list");
  return Value(found);
}

std::optional<Value> listMethod(const Value &value, std::string_view name) {
  if (!value.list()->isTuple && isIn(kChangesList, name))
    return unsafeAttribute(value, name);
  if (name == "copy" && !value.list()->isTuple)
    return function(name, value, [value](Environment &, Arguments &) -> Result<Value> { return value; });
  if (name != "index" && name != "count")
    return std::nullopt;
  return function(name, value, [value, counts = name == "count"](Environment &environment, Arguments &arguments) {
    return searchList(*value.list(), counts, environment, arguments);
  });
}

std::optional<Value> dictMethod(const Value &value, std::string_view name) {
  if (isIn(kChangesDict, name))
    return unsafeAttribute(value, name);
  if (name == "get")
    return function(name, value, [value](Environment &, Arguments &arguments) -> Result<Value> {
      HEDDLE_ASSIGN(Parameters given, Parameters::bind("get", arguments, {"key", "default"}, 1));
      if (!hashOf(*given[0]))
        return typeError("unhashable type: '", given[0]->typeName(), "'");
      const Value *found = value.dict()->find(*given[0]);
      return found ? *found : given.valueOr(1, Value());
    });
  if (name == "copy")
    return function(name, value, [value](Environment &, Arguments &) -> Result<Value> { return value; });
  if (name != "items" && name != "keys" && name != "values")
    return std::nullopt;
  View::Kind kind = name == "items" ? View::Kind::Items : name == "keys" ? View::Kind::Keys : View::Kind::Values;
  return function(name, value, [value, kind](Environment &, Arguments &arguments) -> Result<Value> {
    HEDDLE_CHECK(Parameters::bind("items", arguments, {}));
    return makeObject<View>(kind, value.sharedDict());
  });
}

uint64_t magnitude(int64_t number) { return number < 0 ? uint64_t(0) - uint64_t(number) : uint64_t(number); }

std::optional<Value> numberMethod(const Value &value, std::string_view name) {
  if (name == "is_integer" && !value.boolean())
    return function(name, value, [value](Environment &, Arguments &) -> Result<Value> {
      return Value(std::floor(*value.number()) == *value.number());
    });
  if (name == "bit_length" && value.integer())
    return function(name, value, [value](Environment &, Arguments &) -> Result<Value> {
      int64_t bits = 0;
      for (uint64_t rest = magnitude(*value.integer()); rest != 0; rest >>= 1u)
        ++bits;
      return Value(bits);
    });
  if (name == "real" || name == "numerator")
    return value;
  if (name == "imag")
    return Value(int64_t(0));
  return std::nullopt;
}

} // namespace

std::optional<Value> methodOf(const Value &value, std::string_view name) {
  if (isIn(kInternal, name))
    return unsafeAttribute(value, name);
  if (value.text())
    return textMethod(value, name);
  if (value.list())
    return listMethod(value, name);
  if (value.dict())
    return dictMethod(value, name);
  return value.number() ? numberMethod(value, name) : std::nullopt;
}

} // namespace heddle::chat
