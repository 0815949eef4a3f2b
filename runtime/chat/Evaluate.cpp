#include "runtime/chat/Interpreter.h"
#include "runtime/chat/Items.h"
#include "runtime/chat/Nesting.h"
#include "runtime/chat/ValueText.h"

namespace heddle::chat {
namespace {

using Kind = Expression::Kind;

} // namespace

Error Interpreter::located(Error error, int line) {
  if (failed == 0)
    failed = line;
  return error;
}

Result<Value> Interpreter::evaluate(const Expression &expression, const ScopePtr &scope) {
  if (expression.kind == Kind::Constant)
    return expression.constant;
  Nesting nesting(*this);
  if (Status status = nesting.check(); !status.ok())
    return located(std::move(status).error(), expression.line);
  Result<Value> value = evaluateNode(expression, scope);
  if (!value.ok())
    return located(std::move(value).error(), expression.line);
  if (env.budget.isExhausted())
    return located(env.budget.step().error(), expression.line);
  if (value->depth() > kDeepestValue)
    return located(makeError(ErrorKind::Unsupported, "LimitError: values nest more than ", kDeepestValue, " deep"),
                   expression.line);
  return value;
}

Result<Value> Interpreter::evaluateNode(const Expression &expression, const ScopePtr &scope) {
  auto operand = [&](size_t index) { return evaluate(*expression.operands[index], scope); };
  switch (expression.kind) {
  case Kind::Constant:
    return expression.constant;
  case Kind::Name:
    return evaluateName(expression.symbol, scope);
  case Kind::List:
  case Kind::Tuple: {
    HEDDLE_ASSIGN(Values items, evaluateAll(expression.operands, scope));
    return expression.kind == Kind::List ? makeList(std::move(items)) : makeTuple(std::move(items));
  }
  case Kind::Dict:
    return evaluateDict(expression, scope);
  case Kind::Conditional:
    return evaluateConditional(expression, scope);
  case Kind::And:
  case Kind::Or: {
    HEDDLE_ASSIGN(Value left, operand(0));
    return isTrue(left) == (expression.kind == Kind::And) ? operand(1) : Result<Value>(std::move(left));
  }
  case Kind::Not: {
    HEDDLE_ASSIGN(Value value, operand(0));
    return Value(!isTrue(value));
  }
  case Kind::Compare:
    return evaluateComparison(expression, scope);
  case Kind::Binary: {
    HEDDLE_ASSIGN(Value left, operand(0));
    HEDDLE_ASSIGN(Value right, operand(1));
    return apply(expression.operators[0], left, right, env);
  }
  case Kind::Negate:
  case Kind::Plus: {
    HEDDLE_ASSIGN(Value value, operand(0));
    return expression.kind == Kind::Negate ? negated(value) : plus(value);
  }
  case Kind::Concatenate:
    return evaluateConcatenation(expression, scope);
  case Kind::Attribute: {
    HEDDLE_ASSIGN(Value value, operand(0));
    return attributeOf(value, expression.name, env);
  }
  case Kind::Item: {
    HEDDLE_ASSIGN(Value value, operand(0));
    HEDDLE_ASSIGN(Value key, operand(1));
    return elementOf(value, key, env);
  }
  case Kind::Slice:
    return evaluateSlice(expression, scope);
  case Kind::Call: {
    HEDDLE_ASSIGN(Value callee, operand(0));
    HEDDLE_ASSIGN(Arguments arguments, evaluateArguments(expression, scope));
    return call(callee, std::move(arguments), env);
  }
  case Kind::Filter:
    return evaluateFilter(expression, scope);
  case Kind::Test:
    return evaluateTest(expression, scope);
  case Kind::Block:
    break;
  }
  return block;
}

Result<Value> Interpreter::evaluateName(Symbol name, const ScopePtr &scope) const {
  for (const Scope *each = scope.get(); each; each = each->parent.get())
    if (const Value *value = each->find(name))
      return *value;
  return undefinedName(program.names[name]);
}

Result<Values> Interpreter::evaluateAll(const std::vector<ExpressionPtr> &expressions, const ScopePtr &scope) {
  Values values;
  values.reserve(expressions.size());
  for (const ExpressionPtr &expression : expressions) {
    HEDDLE_ASSIGN(values.emplace_back(), evaluate(*expression, scope));
  }
  return values;
}

Result<Value> Interpreter::evaluateDict(const Expression &expression, const ScopePtr &scope) {
  HEDDLE_ASSIGN(Values parts, evaluateAll(expression.operands, scope));
  std::vector<Dict::Entry> entries;
  for (size_t i = 0; i + 1 < parts.size(); i += 2) {
    if (!hashOf(parts[i]))
      return typeError("unhashable type: '", parts[i].typeName(), "'");
    entries.emplace_back(std::move(parts[i]), std::move(parts[i + 1]));
  }
  return makeDict(std::move(entries));
}

Result<Value> Interpreter::evaluateConditional(const Expression &expression, const ScopePtr &scope) {
  HEDDLE_ASSIGN(Value test, evaluate(*expression.operands[0], scope));
  if (isTrue(test))
    return evaluate(*expression.operands[1], scope);
  if (expression.operands[2])
    return evaluate(*expression.operands[2], scope);
  return undefinedBecause(str("the inline if-expression on line ", expression.line,
                              " evaluated to false and no else section was defined."));
}

Result<Value> Interpreter::evaluateComparison(const Expression &expression, const ScopePtr &scope) {
  HEDDLE_ASSIGN(Value left, evaluate(*expression.operands[0], scope));
  Value result(true);
  for (size_t i = 0; i < expression.operators.size(); ++i) {
    HEDDLE_ASSIGN(Value right, evaluate(*expression.operands[i + 1], scope));
    HEDDLE_ASSIGN(result, apply(expression.operators[i], left, right, env));
    if (!isTrue(result))
      break;
    left = std::move(right);
  }
  return result;
}

Result<Value> Interpreter::evaluateConcatenation(const Expression &expression, const ScopePtr &scope) {
  std::string whole;
  for (const ExpressionPtr &operand : expression.operands) {
    HEDDLE_ASSIGN(Value part, evaluate(*operand, scope));
    std::string added = textOf(part, env.budget);
    HEDDLE_CHECK(env.budget.room(whole.size() + added.size()));
    whole += added;
  }
  return makeText(std::move(whole));
}

Result<Value> Interpreter::evaluateSlice(const Expression &expression, const ScopePtr &scope) {
  Value parts[4]; // the value and its bounds
  for (size_t i = 0; i < 4; ++i)
    if (expression.operands[i]) {
      HEDDLE_ASSIGN(parts[i], evaluate(*expression.operands[i], scope));
    }
  return sliceOf(parts[0], parts[1], parts[2], parts[3], env);
}

Result<Value> Interpreter::evaluateFilter(const Expression &expression, const ScopePtr &scope) {
  HEDDLE_ASSIGN(Value value, evaluate(*expression.operands[0], scope));
  if (!expression.filter)
    return noSuchFilter(expression.name);
  HEDDLE_ASSIGN(Arguments arguments, evaluateArguments(expression, scope));
  if (const Text *text = value.text())
    env.budget.spend(text->bytes.size() / 64);
  return (*expression.filter)(env, value, arguments);
}

Result<Value> Interpreter::evaluateTest(const Expression &expression, const ScopePtr &scope) {
  HEDDLE_ASSIGN(Value value, evaluate(*expression.operands[0], scope));
  if (!expression.test)
    return noSuchTest(expression.name);
  HEDDLE_ASSIGN(Arguments arguments, evaluateArguments(expression, scope));
  HEDDLE_ASSIGN(bool holds, (*expression.test)(env, value, arguments));
  return Value(holds);
}

Result<Arguments> Interpreter::evaluateArguments(const Expression &expression, const ScopePtr &scope) {
  using Form = Argument::Form;
  Arguments arguments;
  for (const Argument &argument : expression.arguments) {
    HEDDLE_ASSIGN(Value value, evaluate(*argument.value, scope));
    if (argument.form == Form::Positional) {
      arguments.positional.push_back(std::move(value));
    } else if (argument.form == Form::Named) {
      arguments.named.emplace_back(argument.name, std::move(value));
    } else if (argument.form == Form::Unpacked) {
      HEDDLE_ASSIGN(Values items, itemsOf(value, env));
      arguments.positional.insert(arguments.positional.end(), items.begin(), items.end());
    } else {
      if (!value.dict())
        return typeError("argument after ** must be a mapping, not ", value.typeName());
      for (const auto &[key, held] : value.dict()->entries()) {
        if (!key.text())
          return typeError("keywords must be strings");
        arguments.named.emplace_back(key.text()->bytes, held);
      }
    }
  }
  return arguments;
}

} // namespace heddle::chat
