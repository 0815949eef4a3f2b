#include "runtime/chat/Operators.h"

#include "runtime/chat/Formatting.h"
#include "runtime/chat/Items.h"
#include "runtime/chat/Strings.h"
#include "runtime/chat/ValueText.h"

#include <algorithm>
#include <cmath>

namespace heddle::chat {
namespace {

// In the order of Operator.
constexpr const char *kSigns[] = {"+", "-", "*", "/", "//", "%", "** or pow()", "==", "!=", "<", "<=", ">", ">="};

const char *signOf(Operator op) { return kSigns[size_t(op)]; }

Error divisionByZero(const char *what) { return makeError(ErrorKind::InvalidArgument, "ZeroDivisionError: ", what); }

Error overflow() {
  return makeError(ErrorKind::Unsupported, "OverflowError: the result is no whole number of 64 bits");
}

int64_t floorDivide(int64_t left, int64_t right) {
  int64_t quotient = left / right;
  return left % right != 0 && (left < 0) != (right < 0) ? quotient - 1 : quotient;
}

Result<Value> wholePower(int64_t base, int64_t exponent) {
  int64_t result = 1;
  for (bool outgrown = false; exponent > 0; exponent >>= 1) {
    if (outgrown || ((exponent & 1) && __builtin_mul_overflow(result, base, &result)))
      return overflow();
    outgrown = __builtin_mul_overflow(base, base, &base);
  }
  return Value(result);
}

Result<Value> wholeArithmetic(Operator op, int64_t left, int64_t right) {
  int64_t result = 0;
  bool outgrown = false;
  switch (op) {
  case Operator::Add:
    outgrown = __builtin_add_overflow(left, right, &result);
    break;
  case Operator::Subtract:
    outgrown = __builtin_sub_overflow(left, right, &result);
    break;
  case Operator::Multiply:
    outgrown = __builtin_mul_overflow(left, right, &result);
    break;
  case Operator::Divide:
    if (right == 0)
      return divisionByZero("division by zero");
    return Value(double(left) / double(right));
  case Operator::FloorDivide:
  case Operator::Modulo:
    if (right == 0)
      return divisionByZero(op == Operator::Modulo ? "integer modulo by zero" : "integer division or modulo by zero");
    if (right == -1) { // INT64_MIN / -1 does not fit
      outgrown = op == Operator::FloorDivide && __builtin_sub_overflow(int64_t(0), left, &result);
      break;
    }
    result = op == Operator::FloorDivide ? floorDivide(left, right) : left - floorDivide(left, right) * right;
    break;
  default:
    if (right >= 0)
      return wholePower(left, right);
    if (left == 0)
      return divisionByZero("0.0 cannot be raised to a negative power");
    return Value(std::pow(double(left), double(right)));
  }
  if (outgrown)
    return overflow();
  return Value(result);
}

Result<Value> realArithmetic(Operator op, double left, double right) {
  switch (op) {
  case Operator::Add:
    return Value(left + right);
  case Operator::Subtract:
    return Value(left - right);
  case Operator::Multiply:
    return Value(left * right);
  case Operator::Divide:
    if (right == 0)
      return divisionByZero("float division by zero");
    return Value(left / right);
  case Operator::FloorDivide:
  case Operator::Modulo: {
    if (right == 0)
      return divisionByZero(op == Operator::Modulo ? "float modulo" : "float floor division by zero");
    double rest = std::fmod(left, right);
    if (rest != 0 && (right < 0) != (rest < 0))
      rest += right;
    return Value(op == Operator::Modulo ? rest : std::round((left - rest) / right));
  }
  default:
    if (left == 0 && right < 0)
      return divisionByZero("0.0 cannot be raised to a negative power");
    if (left < 0 && right != std::floor(right))
      return makeError(ErrorKind::Unsupported, "ValueError: the power of a negative number is not real");
    return Value(std::pow(left, right));
  }
}

// If only one of the two is markup, the other is escaped.
Value joined(const Text &left, const Text &right) {
  if (left.isMarkup == right.isMarkup)
    return makeText(left.bytes + right.bytes, left.isMarkup);
  return makeText((left.isMarkup ? left.bytes : escapedForHtml(left.bytes)) +
                      (right.isMarkup ? right.bytes : escapedForHtml(right.bytes)),
                  true);
}

Result<Value> added(const Value &left, const Value &right, Environment &environment) {
  if (const Text *text = left.text()) {
    if (!right.text())
      return typeError("can only concatenate str (not \"", right.typeName(), "\") to str");
    HEDDLE_CHECK(environment.budget.room(text->bytes.size() + right.text()->bytes.size()));
    return joined(*text, *right.text());
  }
  const List *list = left.list(), *other = right.list();
  if (!other || other->isTuple != list->isTuple)
    return typeError("can only concatenate ", left.typeName(), " (not \"", right.typeName(), "\") to ",
                     left.typeName());
  HEDDLE_CHECK(environment.budget.room((list->items.size() + other->items.size()) * sizeof(Value)));
  Values items = list->items;
  items.insert(items.end(), other->items.begin(), other->items.end());
  return list->isTuple ? makeTuple(std::move(items)) : makeList(std::move(items));
}

Result<Value> repeated(const Value &value, int64_t times, Environment &environment) {
  size_t count = times > 0 ? size_t(times) : 0;
  const Text *text = value.text();
  size_t size = text ? text->bytes.size() : value.list()->items.size() * sizeof(Value), whole = 0;
  if (__builtin_mul_overflow(size, count, &whole))
    whole = SIZE_MAX;
  HEDDLE_CHECK(environment.budget.room(whole));
  if (text) {
    std::string bytes;
    bytes.reserve(whole);
    for (size_t i = 0; size != 0 && i < count; ++i)
      bytes += text->bytes;
    return makeText(std::move(bytes), text->isMarkup);
  }
  Values items;
  for (size_t i = 0; size != 0 && i < count; ++i)
    items.insert(items.end(), value.list()->items.begin(), value.list()->items.end());
  return value.list()->isTuple ? makeTuple(std::move(items)) : makeList(std::move(items));
}

Result<Value> arithmetic(Operator op, const Value &left, const Value &right, Environment &environment) {
  if (op == Operator::Modulo && left.text())
    return percentFormat(*left.text(), right, environment);
  if (left.missing() || right.missing())
    return (left.missing() ? left : right).missing()->error();
  std::optional<int64_t> a = left.integer(), b = right.integer();
  if (a && b)
    return wholeArithmetic(op, *a, *b);
  std::optional<double> x = left.number(), y = right.number();
  if (x && y)
    return realArithmetic(op, *x, *y);
  if (op == Operator::Add && (left.text() || left.list()))
    return added(left, right, environment);
  bool isSequence = left.text() || left.list();
  if (op == Operator::Multiply && (isSequence || right.text() || right.list())) {
    const Value &count = isSequence ? right : left;
    if (!count.integer())
      return typeError("can't multiply sequence by non-int of type '", count.typeName(), "'");
    return repeated(isSequence ? left : right, *count.integer(), environment);
  }
  return typeError("unsupported operand type(s) for ", signOf(op), ": '", left.typeName(), "' and '", right.typeName(),
                   "'");
}

bool equalLists(const List &left, const List &right, Budget &budget) {
  if (left.isTuple != right.isTuple || left.items.size() != right.items.size())
    return false;
  for (size_t i = 0; i < left.items.size(); ++i)
    if (!equal(left.items[i], right.items[i], budget))
      return false;
  return true;
}

bool equalDicts(const Dict &left, const Dict &right, Budget &budget) {
  if (left.entries().size() != right.entries().size())
    return false;
  for (const auto &[key, value] : left.entries()) {
    const Value *other = right.find(key);
    if (!other || !equal(value, *other, budget))
      return false;
  }
  return true;
}

} // namespace

bool isTrue(const Value &value) {
  if (const bool *flag = value.boolean())
    return *flag;
  if (std::optional<double> number = value.number())
    return *number != 0;
  if (const Text *text = value.text())
    return !text->bytes.empty();
  if (const List *list = value.list())
    return !list->items.empty();
  if (const Dict *dict = value.dict())
    return !dict->entries().empty();
  return value.object() && value.object()->isTrue();
}

bool equal(const Value &left, const Value &right, Budget &budget) {
  if (!budget.spend(1))
    return false;
  if (left.isSame(right))
    return !left.real() || !std::isnan(*left.real());
  if (left.text() && right.text()) {
    budget.spend(std::min(left.text()->bytes.size(), right.text()->bytes.size()) / 64);
    return left.text()->bytes == right.text()->bytes;
  }
  if (left.integer() && right.integer())
    return *left.integer() == *right.integer();
  if (left.number() && right.number())
    return *left.number() == *right.number();
  if (left.list() && right.list())
    return equalLists(*left.list(), *right.list(), budget);
  if (left.dict() && right.dict())
    return equalDicts(*left.dict(), *right.dict(), budget);
  if (const auto *range = as<Range>(left), *other = as<Range>(right); range && other)
    return range->count == other->count &&
           (range->count == 0 || (range->start == other->start && (range->count == 1 || range->step == other->step)));
  return left.missing() && right.missing();
}

bool equalKeys(const Value &left, const Value &right) {
  Budget budget(Limits{.work = 10'000});
  return equal(left, right, budget);
}

Result<int> compare(const Value &left, const Value &right, const char *sign, Budget &budget) {
  if (left.missing() || right.missing())
    return (left.missing() ? left : right).missing()->error();
  auto order = [](const auto &a, const auto &b) { return a < b ? -1 : int(b < a); };
  budget.spend(1);
  if (left.text() && right.text()) {
    budget.spend(std::min(left.text()->bytes.size(), right.text()->bytes.size()) / 64);
    return order(left.text()->bytes, right.text()->bytes); // UTF-8 sorts like its code points
  }
  if (left.integer() && right.integer())
    return order(*left.integer(), *right.integer());
  if (left.number() && right.number())
    return order(*left.number(), *right.number());
  if (left.list() && right.list() && left.list()->isTuple == right.list()->isTuple) {
    const Values &a = left.list()->items, &b = right.list()->items;
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
      if (!equal(a[i], b[i], budget)) {
        HEDDLE_CHECK(budget.step()); // fails if equal() only returned false because the work ran out
        return compare(a[i], b[i], sign, budget);
      }
    return order(a.size(), b.size());
  }
  return typeError("'", sign, "' not supported between instances of '", left.typeName(), "' and '", right.typeName(),
                   "'");
}

Result<bool> contains(const Value &container, const Value &item, Environment &environment) {
  if (const Text *text = container.text()) {
    if (!item.text())
      return typeError("'in <string>' requires string as left operand, not ", item.typeName());
    environment.budget.spend(text->bytes.size() / 64);
    return findText(text->bytes, item.text()->bytes, 0) != std::string::npos;
  }
  if (const Dict *dict = container.dict()) {
    if (!hashOf(item))
      return typeError("unhashable type: '", item.typeName(), "'");
    return dict->find(item) != nullptr;
  }
  if (const List *list = container.list())
    return std::any_of(list->items.begin(), list->items.end(),
                       [&](const Value &each) { return each.isSame(item) || equal(each, item, environment.budget); });
  if (!isIterable(container))
    return typeError("argument of type '", container.typeName(), "' is not iterable");
  HEDDLE_ASSIGN(Values items, itemsOf(container, environment));
  return std::any_of(items.begin(), items.end(),
                     [&](const Value &each) { return equal(each, item, environment.budget); });
}

Result<Value> apply(Operator op, const Value &left, const Value &right, Environment &environment) {
  switch (op) {
  case Operator::Equal:
    return Value(equal(left, right, environment.budget));
  case Operator::NotEqual:
    return Value(!equal(left, right, environment.budget));
  case Operator::In:
  case Operator::NotIn: {
    HEDDLE_ASSIGN(bool within, contains(right, left, environment));
    return Value(within == (op == Operator::In));
  }
  case Operator::Less:
  case Operator::LessEqual:
  case Operator::Greater:
  case Operator::GreaterEqual:
    break;
  default:
    return arithmetic(op, left, right, environment);
  }
  // NaN is neither less than, equal to nor greater than anything.
  if (left.number() && right.number() && (std::isnan(*left.number()) || std::isnan(*right.number())))
    return Value(false);
  HEDDLE_ASSIGN(int order, compare(left, right, signOf(op), environment.budget));
  return Value(op == Operator::Less        ? order < 0
               : op == Operator::LessEqual ? order <= 0
               : op == Operator::Greater   ? order > 0
                                           : order >= 0);
}

Result<Value> negated(const Value &value) {
  if (value.missing())
    return value.missing()->error();
  if (std::optional<int64_t> whole = value.integer()) {
    int64_t result = 0;
    if (__builtin_sub_overflow(int64_t(0), *whole, &result))
      return overflow();
    return Value(result);
  }
  if (const double *real = value.real())
    return Value(-*real);
  return typeError("bad operand type for unary -: '", value.typeName(), "'");
}

Result<Value> plus(const Value &value) {
  if (value.missing())
    return value.missing()->error();
  if (std::optional<int64_t> whole = value.integer())
    return Value(*whole);
  if (value.real())
    return value;
  return typeError("bad operand type for unary +: '", value.typeName(), "'");
}

} // namespace heddle::chat
