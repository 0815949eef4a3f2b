// The tests `value is test`.
#include "runtime/chat/Arguments.h"
#include "runtime/chat/Functions.h"
#include "runtime/chat/Items.h"
#include "runtime/chat/Operators.h"
#include "runtime/chat/Strings.h"
#include "runtime/chat/ValueText.h"

#include <algorithm>

namespace heddle::chat {
namespace {

using Ask = bool (*)(const Value &value);

// A test without arguments.
template <Ask ask> Result<bool> simple(Environment &, const Value &value, Arguments &arguments) {
  HEDDLE_CHECK(Parameters::bind("test", arguments, {}));
  return ask(value);
}

bool canBeCalled(const Value &value) { return value.missing() || (value.object() && value.object()->isCallable()); }
bool isSequence(const Value &value) {
  const Object *object = value.object();
  return value.text() || value.list() || value.dict() || value.missing() ||
         (object && object->length() && object->hasElements());
}

Result<bool> isLowerCase(Environment &environment, const Value &value, Arguments &) {
  return isLower(textOf(value, environment.budget));
}
Result<bool> isUpperCase(Environment &environment, const Value &value, Arguments &) {
  return isUpper(textOf(value, environment.budget));
}

template <Operator op> Result<bool> compared(Environment &environment, const Value &value, Arguments &arguments) {
  HEDDLE_ASSIGN(Parameters given, Parameters::bind("test", arguments, {"other"}, 1));
  HEDDLE_ASSIGN(Value result, apply(op, value, *given[0], environment));
  return isTrue(result);
}

Result<bool> isSameAs(Environment &, const Value &value, Arguments &arguments) {
  HEDDLE_ASSIGN(Parameters given, Parameters::bind("sameas", arguments, {"other"}, 1));
  return value.isSame(*given[0]);
}

Result<bool> leaves(Environment &environment, const Value &value, int64_t divisor, int64_t rest) {
  HEDDLE_ASSIGN(Value left, apply(Operator::Modulo, value, Value(divisor), environment));
  return equal(left, Value(rest), environment.budget);
}
Result<bool> isOdd(Environment &environment, const Value &value, Arguments &) {
  return leaves(environment, value, 2, 1);
}
Result<bool> isEven(Environment &environment, const Value &value, Arguments &) {
  return leaves(environment, value, 2, 0);
}
Result<bool> isDivisibleBy(Environment &environment, const Value &value, Arguments &arguments) {
  HEDDLE_ASSIGN(Parameters given, Parameters::bind("divisibleby", arguments, {"num"}, 1));
  HEDDLE_ASSIGN(Value left, apply(Operator::Modulo, value, *given[0], environment));
  return equal(left, Value(int64_t(0)), environment.budget);
}

Result<bool> isFilter(Environment &, const Value &value, Arguments &) {
  return value.text() && findFilter(value.text()->bytes);
}
Result<bool> isTest(Environment &, const Value &value, Arguments &) {
  return value.text() && findTest(value.text()->bytes);
}

constexpr NamedTest kTests[] = {
    {"!=", compared<Operator::NotEqual>},
    {"<", compared<Operator::Less>},
    {"<=", compared<Operator::LessEqual>},
    {"==", compared<Operator::Equal>},
    {">", compared<Operator::Greater>},
    {">=", compared<Operator::GreaterEqual>},
    {"boolean", simple<[](const Value &value) { return value.boolean() != nullptr; }>},
    {"callable", simple<canBeCalled>},
    {"defined", simple<[](const Value &value) { return !value.missing(); }>},
    {"divisibleby", isDivisibleBy},
    {"eq", compared<Operator::Equal>},
    {"equalto", compared<Operator::Equal>},
    {"escaped", simple<[](const Value &value) { return value.text() && value.text()->isMarkup; }>},
    {"even", isEven},
    {"false", simple<[](const Value &value) { return value.boolean() && !*value.boolean(); }>},
    {"filter", isFilter},
    {"float", simple<[](const Value &value) { return value.real() != nullptr; }>},
    {"ge", compared<Operator::GreaterEqual>},
    {"greaterthan", compared<Operator::Greater>},
    {"gt", compared<Operator::Greater>},
    {"in", compared<Operator::In>},
    {"integer", simple<[](const Value &value) { return value.whole() != nullptr; }>},
    {"iterable", simple<isIterable>},
    {"le", compared<Operator::LessEqual>},
    {"lessthan", compared<Operator::Less>},
    {"lower", isLowerCase},
    {"lt", compared<Operator::Less>},
    {"mapping", simple<[](const Value &value) { return value.dict() != nullptr; }>},
    {"ne", compared<Operator::NotEqual>},
    {"none", simple<[](const Value &value) { return value.isNone(); }>},
    {"number", simple<[](const Value &value) { return value.number().has_value(); }>},
    {"odd", isOdd},
    {"sameas", isSameAs},
    {"sequence", simple<isSequence>},
    {"string", simple<[](const Value &value) { return value.text() != nullptr; }>},
    {"test", isTest},
    {"true", simple<[](const Value &value) { return value.boolean() && *value.boolean(); }>},
    {"undefined", simple<[](const Value &value) { return value.missing() != nullptr; }>},
    {"upper", isUpperCase}};

} // namespace

const Test *findTest(std::string_view name) {
  auto found = std::find_if(std::begin(kTests), std::end(kTests), [&](const auto &each) { return each.name == name; });
  return found == std::end(kTests) ? nullptr : &found->test;
}

} // namespace heddle::chat
