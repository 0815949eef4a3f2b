#include "runtime/chat/Interpreter.h"
#include "runtime/chat/Items.h"
#include "runtime/chat/Loop.h"
#include "runtime/chat/Nesting.h"
#include "runtime/chat/ValueText.h"

#include <algorithm>

namespace heddle::chat {
namespace {

using Kind = Statement::Kind;

} // namespace

const Value *Scope::find(Symbol name) const {
  auto found = std::find_if(variables.begin(), variables.end(), [&](const auto &each) { return each.first == name; });
  return found == variables.end() ? nullptr : &found->second;
}

void Scope::set(Symbol name, Value value) {
  for (auto &[symbol, old] : variables)
    if (symbol == name) {
      old = std::move(value);
      return;
    }
  variables.emplace_back(name, std::move(value));
}

Interpreter::Interpreter(const Program &program, Environment &environment)
    : program(program), env(environment), globals(std::make_shared<Scope>(nullptr)),
      root(std::make_shared<Scope>(globals)) {}

Interpreter::~Interpreter() {
  block = Value();
  captured.push_back(root);
  for (const ScopePtr &scope : captured)
    scope->variables.clear();
}

Status Interpreter::run(const std::vector<std::pair<std::string, Value>> &variables) {
  auto define = [&](Scope &scope, const std::string &name, const Value &value) {
    auto found = std::find(program.names.begin(), program.names.end(), name);
    if (found != program.names.end())
      scope.set(Symbol(found - program.names.begin()), value);
  };
  for (const auto &[name, function] : globalFunctions())
    define(*globals, name, function);
  for (const auto &[name, value] : variables)
    define(*root, name, value);
  HEDDLE_CHECK(executeBody(program.body, root));
  return Success();
}

Result<Interpreter::Flow> Interpreter::executeBody(const Body &body, const ScopePtr &scope) {
  for (const auto &statement : body) {
    Result<Flow> flow = execute(*statement, scope);
    if (!flow.ok())
      return located(std::move(flow).error(), statement->line);
    if (*flow != Flow::On)
      return *flow;
  }
  return Flow::On;
}

Result<Interpreter::Flow> Interpreter::execute(const Statement &statement, const ScopePtr &scope) {
  Nesting nesting(*this);
  HEDDLE_CHECK(nesting.check());
  switch (statement.kind) {
  case Kind::Text:
    HEDDLE_CHECK(env.budget.roomInOutput(out->size() + statement.text.size()));
    env.budget.spend(statement.text.size() / 64);
    *out += statement.text;
    return Flow::On;
  case Kind::Print: {
    HEDDLE_ASSIGN(Value value, evaluate(*statement.value, scope));
    HEDDLE_CHECK(print(value));
    return Flow::On;
  }
  case Kind::If:
    return executeIf(statement, scope);
  case Kind::For: {
    HEDDLE_ASSIGN(Value items, evaluate(*statement.value, scope));
    HEDDLE_CHECK(executeLoop(statement, items, scope, 0));
    return Flow::On;
  }
  case Kind::Set: {
    HEDDLE_ASSIGN(Value value, evaluate(*statement.value, scope));
    HEDDLE_CHECK(assign(statement.target, value, scope));
    return Flow::On;
  }
  case Kind::SetBlock:
    return executeSetBlock(statement, scope);
  case Kind::Macro:
    scope->set(statement.macro->symbol, makeMacro(*statement.macro, scope));
    return Flow::On;
  case Kind::CallBlock:
    HEDDLE_CHECK(executeCallBlock(statement, scope));
    return Flow::On;
  case Kind::FilterBlock:
    return executeFilterBlock(statement, scope);
  case Kind::With:
    return executeWith(statement, scope);
  case Kind::Generation:
    HEDDLE_CHECK(executeGeneration(statement, scope));
    return Flow::On;
  case Kind::Break:
    return Flow::Break;
  case Kind::Continue:
    break;
  }
  return Flow::Continue;
}

Status Interpreter::print(const Value &value) {
  if (const Text *printed = value.text()) {
    HEDDLE_CHECK(env.budget.roomInOutput(out->size() + printed->bytes.size()));
    env.budget.spend(printed->bytes.size() / 64);
    *out += printed->bytes;
    return Success();
  }
  std::string printed = textOf(value, env.budget);
  HEDDLE_CHECK(env.budget.step());
  HEDDLE_CHECK(env.budget.roomInOutput(out->size() + printed.size()));
  *out += printed;
  return Success();
}

Result<Interpreter::Flow> Interpreter::executeIf(const Statement &statement, const ScopePtr &scope) {
  for (const Branch &branch : statement.branches) {
    if (branch.test) {
      HEDDLE_ASSIGN(Value test, evaluate(*branch.test, scope));
      if (!isTrue(test))
        continue;
    }
    return executeBody(branch.body, scope);
  }
  return Flow::On;
}

Status Interpreter::executeLoop(const Statement &statement, const Value &items, const ScopePtr &around, int64_t level) {
  HEDDLE_ASSIGN(Values values, itemsOf(items, env));
  auto loop = std::make_shared<Loop>(*this, statement, std::move(values), around, level);
  Value variable{std::shared_ptr<Object>(loop)};
  ScopePtr scope;
  bool isCompleted = false; // whether an iteration ended without `break` or `continue`; jinja2 runs `else` otherwise
  while (true) {
    HEDDLE_ASSIGN(std::optional<Value> item, loop->advance());
    if (!item)
      break;
    // Each iteration has its own variables. The previous iteration's scope is reused unless a macro has captured it.
    if (scope && scope.use_count() == 1)
      scope->variables.clear();
    else
      scope = std::make_shared<Scope>(around);
    HEDDLE_CHECK(assign(statement.target, *item, scope));
    scope->set(program.loop, variable);
    HEDDLE_ASSIGN(Flow flow, executeBody(statement.body, scope));
    isCompleted |= flow == Flow::On;
    if (flow == Flow::Break)
      break;
  }
  loop->finish();
  if (isCompleted || statement.otherwise.empty())
    return Success();
  HEDDLE_CHECK(executeBody(statement.otherwise, std::make_shared<Scope>(around)));
  return Success();
}

Result<bool> Interpreter::isVisited(const Statement &loop, const Value &item, const ScopePtr &around) {
  auto scope = std::make_shared<Scope>(around);
  HEDDLE_CHECK(assign(loop.target, item, scope));
  HEDDLE_ASSIGN(Value test, evaluate(*loop.test, scope));
  return isTrue(test);
}

Result<std::string> Interpreter::renderLoop(const Statement &loop, const Value &items, const ScopePtr &around,
                                            int64_t level) {
  Nesting nesting(*this, Nesting::kCall);
  HEDDLE_CHECK(nesting.check());
  std::string rendered, *outer = std::exchange(out, &rendered);
  Status status = executeLoop(loop, items, around, level);
  out = outer;
  HEDDLE_CHECK(std::move(status));
  return rendered;
}

Result<Interpreter::Flow> Interpreter::capture(const Body &body, const ScopePtr &scope, std::string &into) {
  std::string *outer = std::exchange(out, &into);
  Result<Flow> flow = executeBody(body, scope);
  out = outer;
  return flow;
}

Result<Interpreter::Flow> Interpreter::executeSetBlock(const Statement &statement, const ScopePtr &scope) {
  std::string captured;
  HEDDLE_ASSIGN(Flow flow, capture(statement.body, std::make_shared<Scope>(scope), captured));
  if (flow != Flow::On)
    return flow;
  Value value = makeText(std::move(captured));
  if (statement.value) {
    block = value;
    HEDDLE_ASSIGN(value, evaluate(*statement.value, scope));
  }
  HEDDLE_CHECK(assign(statement.target, value, scope));
  return Flow::On;
}

Result<Interpreter::Flow> Interpreter::executeFilterBlock(const Statement &statement, const ScopePtr &scope) {
  std::string captured;
  HEDDLE_ASSIGN(Flow flow, capture(statement.body, std::make_shared<Scope>(scope), captured));
  if (flow != Flow::On)
    return flow;
  block = makeText(std::move(captured));
  HEDDLE_ASSIGN(Value value, evaluate(*statement.value, scope));
  HEDDLE_CHECK(print(value));
  return Flow::On;
}

Result<Interpreter::Flow> Interpreter::executeWith(const Statement &statement, const ScopePtr &scope) {
  HEDDLE_ASSIGN(Values values, evaluateAll(statement.values, scope));
  auto inner = std::make_shared<Scope>(scope);
  for (size_t i = 0; i < values.size(); ++i)
    HEDDLE_CHECK(assign(statement.targets[i], values[i], inner));
  return executeBody(statement.body, inner);
}

Value Interpreter::makeMacro(const MacroDefinition &macro, const ScopePtr &scope) {
  if (captured.empty() || captured.back() != scope)
    captured.push_back(scope);
  return makeObject<Macro>(*this, macro, scope);
}

Status Interpreter::executeCallBlock(const Statement &statement, const ScopePtr &scope) {
  const Expression &expression = *statement.value;
  HEDDLE_ASSIGN(Value callee, evaluate(*expression.operands[0], scope));
  HEDDLE_ASSIGN(Arguments arguments, evaluateArguments(expression, scope));
  arguments.named.emplace_back("caller", makeMacro(*statement.macro, scope));
  HEDDLE_ASSIGN(Value value, call(callee, std::move(arguments), env));
  return print(value);
}

// Records the span of the body's output. A body within a macro has no span, since the final place of its text is
// unknown.
Status Interpreter::executeGeneration(const Statement &statement, const ScopePtr &scope) {
  size_t begin = out->size();
  HEDDLE_CHECK(executeBody(statement.body, std::make_shared<Scope>(scope)));
  if (out == &text)
    spans.push_back({begin, text.size()});
  return Success();
}

Status Interpreter::assign(const Target &target, const Value &value, const ScopePtr &scope) {
  if (target.form == Target::Form::Tuple)
    return assignTuple(target, value, scope);
  if (target.form == Target::Form::Name) {
    scope->set(target.symbol, value);
    return Success();
  }
  HEDDLE_ASSIGN(Value owner, evaluateName(target.symbol, scope));
  auto *space = as<Namespace>(owner);
  if (!space)
    return runtimeError("cannot assign attribute on non-namespace object");
  space->set(target.attribute, value);
  return Success();
}

Status Interpreter::assignTuple(const Target &target, const Value &value, const ScopePtr &scope) {
  if (!isIterable(value))
    return typeError("cannot unpack non-iterable ", value.typeName(), " object");
  HEDDLE_ASSIGN(Values parts, itemsOf(value, env));
  if (parts.size() < target.parts.size())
    return valueError("not enough values to unpack (expected ", target.parts.size(), ", got ", parts.size(), ")");
  if (parts.size() > target.parts.size())
    return valueError("too many values to unpack (expected ", target.parts.size(), ")");
  for (size_t i = 0; i < parts.size(); ++i)
    HEDDLE_CHECK(assign(target.parts[i], parts[i], scope));
  return Success();
}

Result<Value> Interpreter::callMacro(const MacroDefinition &macro, const ScopePtr &around, Arguments arguments) {
  Nesting nesting(*this, Nesting::kCall);
  HEDDLE_CHECK(nesting.check());
  auto scope = std::make_shared<Scope>(around);
  auto takeNamed = [&](std::string_view name) -> std::optional<Value> {
    auto found = std::find_if(arguments.named.begin(), arguments.named.end(),
                              [&](const auto &each) { return each.first == name; });
    if (found == arguments.named.end())
      return std::nullopt;
    Value value = std::move(found->second);
    arguments.named.erase(found);
    return value;
  };
  bool hasCaller = false; // as a parameter
  for (size_t i = 0; i < macro.parameters.size(); ++i) {
    const Parameter &parameter = macro.parameters[i];
    hasCaller |= parameter.name == "caller";
    std::optional<Value> value =
        i < arguments.positional.size() ? std::optional(arguments.positional[i]) : takeNamed(parameter.name);
    if (!value && parameter.otherwise) {
      HEDDLE_ASSIGN(value, evaluate(*parameter.otherwise, scope)); // may use the parameters before it
    }
    scope->set(parameter.symbol,
               value ? *value : undefinedBecause("parameter '" + parameter.name + "' was not provided"));
  }
  if (macro.usesCaller && !hasCaller) {
    std::optional<Value> caller = takeNamed("caller");
    scope->set(program.caller, caller ? *caller : undefinedBecause("No caller defined"));
  }
  if (macro.usesNamed) {
    std::vector<Dict::Entry> rest;
    for (auto &[name, value] : std::exchange(arguments.named, {}))
      rest.emplace_back(makeText(name), value);
    scope->set(program.named, makeDict(std::move(rest)));
  } else if (!arguments.named.empty()) {
    const std::string &name = arguments.named.front().first;
    if (name == "caller")
      return typeError("macro '", macro.name,
                       "' was invoked with two values for the special caller argument. This is most likely a bug.");
    return typeError("macro '", macro.name, "' takes no keyword argument '", name, "'");
  }
  size_t expected = macro.parameters.size(), given = arguments.positional.size();
  if (macro.usesArguments)
    scope->set(program.arguments,
               makeTuple(given > expected ? Values(arguments.positional.begin() + std::ptrdiff_t(expected),
                                                   arguments.positional.end())
                                          : Values()));
  else if (given > expected)
    return typeError("macro '", macro.name, "' takes not more than ", expected, " argument(s)");
  std::string rendered;
  HEDDLE_CHECK(capture(macro.body, scope, rendered));
  return makeText(std::move(rendered));
}

} // namespace heddle::chat
