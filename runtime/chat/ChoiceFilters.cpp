// Filters that select: a default value, an attribute, or the items that pass a test; and `map`.
#include "runtime/chat/Arguments.h"
#include "runtime/chat/Functions.h"
#include "runtime/chat/Items.h"
#include "runtime/chat/Keys.h"
#include "runtime/chat/Operators.h"
#include "runtime/chat/ValueText.h"

#include <optional>

namespace heddle::chat {
namespace {

Error argumentError(std::string_view message) {
  return makeError(ErrorKind::InvalidArgument, "FilterArgumentError: ", message);
}

Result<Value> otherwise(Environment &, const Value &value, Arguments &arguments) {
  HEDDLE_ASSIGN(Parameters given, Parameters::bind("default", arguments, {"default_value", "boolean"}));
  bool isReplaced = value.missing() || (given.flag(1, false) && !isTrue(value));
  return isReplaced ? given.valueOr(0, makeText("")) : value;
}

Result<Value> attr(Environment &environment, const Value &value, Arguments &arguments) {
  HEDDLE_ASSIGN(Parameters given, Parameters::bind("attr", arguments, {"name"}, 1));
  std::string name = textOf(*given[0], environment.budget);
  HEDDLE_ASSIGN(std::optional<Value> found, onlyAttribute(value, name, environment));
  return found ? *found : undefinedAttribute(value, name);
}

// The arguments from `begin` on, which belong to the filter or test named by the argument before them.
Arguments rest(const Arguments &arguments, size_t begin) {
  Arguments others;
  if (begin < arguments.positional.size())
    others.positional.assign(arguments.positional.begin() + std::ptrdiff_t(begin), arguments.positional.end());
  others.named = arguments.named;
  return others;
}

Result<Value> mapAttribute(Environment &environment, const Value &value, Arguments &arguments) {
  HEDDLE_ASSIGN(Parameters given, Parameters::bind("map", arguments, {"attribute", "default"}, 1));
  HEDDLE_ASSIGN(KeyPath path, KeyPath::parse(*given[0]));
  HEDDLE_ASSIGN(Values items, itemsOf(value, environment));
  const Value *missing = given[1] && !given[1]->isNone() ? given[1] : nullptr;
  for (Value &item : items) {
    HEDDLE_ASSIGN(item, path.of(item, environment, missing));
  }
  return makeObject<Iterator>(std::move(items));
}

Result<Value> map(Environment &environment, const Value &value, Arguments &arguments) {
  if (!isTrue(value)) // jinja2 does not check the arguments then
    return makeObject<Iterator>(Values());
  if (arguments.positional.empty()) {
    for (const auto &[name, each] : arguments.named)
      if (name == "attribute")
        return mapAttribute(environment, value, arguments);
    return argumentError("map requires a filter argument");
  }
  const Value &name = arguments.positional[0];
  const Filter *filter = name.text() ? findFilter(name.text()->bytes) : nullptr;
  if (!filter)
    return runtimeError("No filter named ", reprOf(name, environment.budget), ".");
  HEDDLE_ASSIGN(Values items, itemsOf(value, environment));
  for (Value &item : items) {
    HEDDLE_CHECK(environment.budget.step());
    if (item.text())
      environment.budget.spend(item.text()->bytes.size() / 64);
    Arguments others = rest(arguments, 1);
    HEDDLE_ASSIGN(item, (*filter)(environment, item, others));
  }
  return makeObject<Iterator>(std::move(items));
}

// The items that pass a test, or fail it if `kept` is false. With `ofAttribute`, the test is applied to an attribute.
Result<Value> choose(Environment &environment, const Value &value, Arguments &arguments, bool ofAttribute, bool kept) {
  if (!isTrue(value))
    return makeObject<Iterator>(Values());
  std::optional<KeyPath> path;
  size_t testPlace = ofAttribute ? 1 : 0;
  if (ofAttribute) {
    if (arguments.positional.empty())
      return argumentError("Missing parameter for attribute name");
    HEDDLE_ASSIGN(path, KeyPath::parse(arguments.positional[0]));
  }
  const Test *test = nullptr;
  if (testPlace < arguments.positional.size()) {
    const Value &name = arguments.positional[testPlace];
    test = name.text() ? findTest(name.text()->bytes) : nullptr;
    if (!test)
      return runtimeError("No test named ", reprOf(name, environment.budget), ".");
  }
  HEDDLE_ASSIGN(Values items, itemsOf(value, environment));
  Values chosen;
  for (const Value &item : items) {
    HEDDLE_CHECK(environment.budget.step());
    Value tested = item;
    if (path) {
      HEDDLE_ASSIGN(tested, path->of(item, environment));
    }
    bool holds = isTrue(tested);
    if (test) {
      Arguments others = rest(arguments, testPlace + 1);
      HEDDLE_ASSIGN(holds, (*test)(environment, tested, others));
    }
    if (holds == kept)
      chosen.push_back(item);
  }
  return makeObject<Iterator>(std::move(chosen));
}

template <bool ofAttribute, bool kept>
Result<Value> choosing(Environment &environment, const Value &value, Arguments &arguments) {
  return choose(environment, value, arguments, ofAttribute, kept);
}

constexpr NamedFilter kFilters[] = {{"attr", attr},
                                    {"d", otherwise},
                                    {"default", otherwise},
                                    {"map", map},
                                    {"reject", choosing<false, false>},
                                    {"rejectattr", choosing<true, false>},
                                    {"select", choosing<false, true>},
                                    {"selectattr", choosing<true, true>}};

} // namespace

std::span<const NamedFilter> choiceFilters() { return kFilters; }

} // namespace heddle::chat
