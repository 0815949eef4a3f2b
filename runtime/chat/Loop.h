// Macros, and the variable `loop`.
#pragma once

#include "runtime/chat/Interpreter.h"

namespace heddle::chat {

class Macro final : public Object {
public:
  Macro(Interpreter &interpreter, const MacroDefinition &definition, ScopePtr around)
      : Object(sizeof(Macro)), interpreter(interpreter), definition(definition), around(std::move(around)) {}

  std::string typeName() const override { return "Macro"; }
  std::string module() const override { return "jinja2.runtime."; }
  std::string repr(Budget &budget) const override;
  Result<std::optional<Value>> attribute(Environment &environment, std::string_view name) override;
  bool isCallable() const override { return true; }
  Result<Value> call(Environment &environment, Arguments arguments) override;

private:
  Interpreter &interpreter;
  const MacroDefinition &definition;
  ScopePtr around;
};

// A running loop. An item is tested by the loop's `if` when the loop reaches it, or when the template looks ahead, for
// example with `loop.last`.
class Loop final : public Object {
public:
  Loop(Interpreter &interpreter, const Statement &statement, Values items, ScopePtr around, int64_t depth);

  // The next item; nothing at the end.
  Result<std::optional<Value>> advance();
  // Releases everything that the loop holds: a template may have stored `loop` in a variable of the enclosing scope.
  void finish();

  std::string typeName() const override { return "LoopContext"; }
  std::string module() const override { return "jinja2.runtime."; }
  std::string repr(Budget &budget) const override;
  unsigned depth() const override { return deepest; }
  Result<std::optional<Value>> attribute(Environment &environment, std::string_view name) override;
  bool isCallable() const override { return statement.isRecursive; }
  Result<Value> call(Environment &environment, Arguments arguments) override;

private:
  Result<std::optional<Value>> peek();
  Result<int64_t> total();
  Value method(const char *name, Result<Value> (Loop::*body)(Arguments &));
  Result<Value> cycle(Arguments &arguments);
  Result<Value> changed(Arguments &arguments);

  Interpreter &interpreter;
  const Statement &statement;
  Values items;
  size_t place = 0;      // of the next item that was not requested yet
  bool isTested = false; // `items` contains only items that pass the loop's `if`
  ScopePtr around;
  int64_t level;
  int64_t index = -1; // of the current item
  std::optional<Value> previous, current, ahead;
  std::optional<Values> seen; // the arguments of the last call of changed()
  unsigned deepest = 1;
};

} // namespace heddle::chat
