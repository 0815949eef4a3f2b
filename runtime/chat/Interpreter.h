// Renders the syntax tree of a template.
#pragma once

#include "runtime/chat/Object.h"
#include "runtime/chat/Syntax.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace heddle::chat {

// The variables of a macro, a loop iteration or another block. Names are looked up in this scope first, then in its
// parent.
struct Scope {
  explicit Scope(std::shared_ptr<Scope> parent) : parent(std::move(parent)) {}

  const Value *find(Symbol name) const; // only in this scope
  void set(Symbol name, Value value);

  std::vector<std::pair<Symbol, Value>> variables;
  std::shared_ptr<Scope> parent;
};
using ScopePtr = std::shared_ptr<Scope>;

// Bytes [begin, end) of the rendered text.
struct TextSpan {
  size_t begin, end;
};

class Interpreter {
public:
  Interpreter(const Program &program, Environment &environment);
  ~Interpreter();

  // Renders with these variables. Call it only once.
  Status run(const std::vector<std::pair<std::string, Value>> &variables);

  std::string takeText() { return std::move(text); }
  const std::vector<TextSpan> &generated() const { return spans; }
  // The line of the expression or tag in which run() failed; 0 if unknown.
  int failedLine() const { return failed; }

  // Callbacks for macros and loops.
  Result<Value> callMacro(const MacroDefinition &macro, const ScopePtr &around, Arguments arguments);
  Result<std::string> renderLoop(const Statement &loop, const Value &items, const ScopePtr &around, int64_t depth);
  // Returns true if the item passes the loop's `if`.
  Result<bool> isVisited(const Statement &loop, const Value &item, const ScopePtr &around);
  Environment &environment() { return env; }

private:
  enum class Flow { On, Break, Continue };

  // Expressions (Evaluate.cpp).
  Result<Value> evaluate(const Expression &expression, const ScopePtr &scope);
  Result<Value> evaluateNode(const Expression &expression, const ScopePtr &scope);
  Result<Values> evaluateAll(const std::vector<ExpressionPtr> &expressions, const ScopePtr &scope);
  Result<Value> evaluateName(Symbol name, const ScopePtr &scope) const;
  Result<Value> evaluateDict(const Expression &expression, const ScopePtr &scope);
  Result<Value> evaluateConditional(const Expression &expression, const ScopePtr &scope);
  Result<Value> evaluateComparison(const Expression &expression, const ScopePtr &scope);
  Result<Value> evaluateConcatenation(const Expression &expression, const ScopePtr &scope);
  Result<Value> evaluateSlice(const Expression &expression, const ScopePtr &scope);
  Result<Value> evaluateFilter(const Expression &expression, const ScopePtr &scope);
  Result<Value> evaluateTest(const Expression &expression, const ScopePtr &scope);
  Result<Arguments> evaluateArguments(const Expression &expression, const ScopePtr &scope);

  // Statements (Execute.cpp).
  Result<Flow> executeBody(const Body &body, const ScopePtr &scope);
  Result<Flow> execute(const Statement &statement, const ScopePtr &scope);
  Result<Flow> executeIf(const Statement &statement, const ScopePtr &scope);
  Status executeLoop(const Statement &statement, const Value &items, const ScopePtr &around, int64_t depth);
  Result<Flow> executeSetBlock(const Statement &statement, const ScopePtr &scope);
  Result<Flow> executeWith(const Statement &statement, const ScopePtr &scope);
  Status executeCallBlock(const Statement &statement, const ScopePtr &scope);
  Result<Flow> executeFilterBlock(const Statement &statement, const ScopePtr &scope);
  Status executeGeneration(const Statement &statement, const ScopePtr &scope);
  Status print(const Value &value);
  Status assign(const Target &target, const Value &value, const ScopePtr &scope);
  Status assignTuple(const Target &target, const Value &value, const ScopePtr &scope);
  Value makeMacro(const MacroDefinition &macro, const ScopePtr &scope);
  // Runs the body with its output redirected to `into`.
  Result<Flow> capture(const Body &body, const ScopePtr &scope, std::string &into);

  // Counts the recursion depth of evaluations.
  class Nesting;
  // Records the line of the innermost failure and returns the error.
  Error located(Error error, int line);

  const Program &program;
  Environment &env;
  ScopePtr globals, root;
  std::vector<ScopePtr> captured; // scopes that macros captured; a scope may hold a macro that holds the scope
  std::string text;
  std::string *out = &text; // where output goes: `text`, or the text of a macro or block
  Value block;              // the text of the block to which a filter is applied
  std::vector<TextSpan> spans;
  unsigned depth = 0;
  int failed = 0;
};

} // namespace heddle::chat
