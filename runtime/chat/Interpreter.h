// Renders the syntax tree of a template.
#pragma once

#include "runtime/chat/Object.h"
#include "runtime/chat/Syntax.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace heddle::chat {

// The variables of a macro, of a loop's turn or of another block. A name is looked up here, then in the scope around
// it.
struct Scope {
  explicit Scope(std::shared_ptr<Scope> parent) : parent(std::move(parent)) {}

  const Value *find(Symbol name) const; // of this scope alone
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

  // Renders with these variables. To be called once.
  Status run(const std::vector<std::pair<std::string, Value>> &variables);

  std::string takeText() { return std::move(text); }
  const std::vector<TextSpan> &generated() const { return spans; }
  // Of the expression or the tag in which run() failed; 0 if it is not known.
  int failedLine() const { return failed; }

  // For macros and loops, which call back.
  Result<Value> callMacro(const MacroDefinition &macro, const ScopePtr &around, Arguments arguments);
  Result<std::string> renderLoop(const Statement &loop, const Value &items, const ScopePtr &around, int64_t depth);
  // Whether a loop visits the item, by its `if`.
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
  // Runs the body with its output going into `into`.
  Result<Flow> capture(const Body &body, const ScopePtr &scope, std::string &into);

  // Counts how deep evaluations recurse into each other.
  class Nesting;
  // Remembers the line of the innermost failure, and passes the error on.
  Error located(Error error, int line);

  const Program &program;
  Environment &env;
  ScopePtr globals, root;
  std::vector<ScopePtr> captured; // that macros see; a scope may hold a macro that holds the scope
  std::string text;
  std::string *out = &text; // where the output goes: `text`, or the text of a macro or a block
  Value block;              // that a filter of a block is applied to
  std::vector<TextSpan> spans;
  unsigned depth = 0;
  int failed = 0;
};

} // namespace heddle::chat
