#include "runtime/chat/Loop.h"

#include "runtime/chat/Items.h"

#include <algorithm>

namespace heddle::chat {

std::string Macro::repr(Budget &) const { return "<Macro '" + definition.name + "'>"; }

Result<std::optional<Value>> Macro::attribute(Environment &, std::string_view name) {
  auto some = [](Value value) { return std::optional(std::move(value)); };
  if (name == "name")
    return some(makeText(definition.name));
  if (name == "arguments") {
    Values names;
    for (const Parameter &parameter : definition.parameters)
      names.push_back(makeText(parameter.name));
    return some(makeTuple(std::move(names)));
  }
  if (name == "caller" || name == "catch_kwargs" || name == "catch_varargs")
    return some(Value(name == "caller"         ? definition.usesCaller
                      : name == "catch_kwargs" ? definition.usesNamed
                                               : definition.usesArguments));
  return std::optional<Value>();
}

Result<Value> Macro::call(Environment &, Arguments arguments) {
  return interpreter.callMacro(definition, around, std::move(arguments));
}

Loop::Loop(Interpreter &interpreter, const Statement &statement, Values given, ScopePtr around, int64_t depth)
    : Object(sizeof(Loop) + given.size() * sizeof(Value)), interpreter(interpreter), statement(statement),
      items(std::move(given)), around(std::move(around)), level(depth) {
  for (const Value &item : items)
    deepest = std::max(deepest, item.depth() + 1);
}

// The item after the current one.
Result<std::optional<Value>> Loop::peek() {
  while (!ahead && place < items.size()) {
    const Value &item = items[place++];
    bool isVisited = true;
    if (statement.test && !isTested) {
      HEDDLE_ASSIGN(isVisited, interpreter.isVisited(statement, item, around));
    }
    if (isVisited)
      ahead = item;
  }
  return ahead;
}

Result<std::optional<Value>> Loop::advance() {
  HEDDLE_ASSIGN(std::optional<Value> item, peek());
  previous = std::move(current);
  current = item;
  ahead.reset();
  ++index;
  return item;
}

void Loop::finish() {
  around.reset();
  items.clear();
  place = 0;
  seen.reset();
}

// The total number of items that the loop visits.
Result<int64_t> Loop::total() {
  HEDDLE_CHECK(peek());
  if (statement.test && !isTested) {
    Values visited;
    for (; place < items.size(); ++place) {
      HEDDLE_ASSIGN(bool isVisited, interpreter.isVisited(statement, items[place], around));
      if (isVisited)
        visited.push_back(items[place]);
    }
    items = std::move(visited);
    place = 0;
    isTested = true;
  }
  return index + 1 + int64_t(ahead.has_value()) + int64_t(items.size() - place);
}

std::string Loop::repr(Budget &) const { return str("<LoopContext ", index + 1, "/", items.size(), ">"); }

Value Loop::method(const char *name, Result<Value> (Loop::*body)(Arguments &)) {
  auto self = std::static_pointer_cast<Loop>(shared_from_this());
  return makeObject<Function>(
      name, [self, body](Environment &, Arguments &arguments) { return (self.get()->*body)(arguments); }, deepest);
}

Result<std::optional<Value>> Loop::attribute(Environment &, std::string_view name) {
  auto some = [](auto value) { return std::optional(Value(value)); };
  if (name == "index" || name == "index0")
    return some(index + int64_t(name == "index"));
  if (name == "first")
    return some(index == 0);
  if (name == "last" || name == "nextitem") {
    HEDDLE_ASSIGN(std::optional<Value> next, peek());
    if (name == "last")
      return some(!next.has_value());
    return std::optional(next ? *next : undefinedBecause("there is no next item"));
  }
  if (name == "previtem")
    return std::optional(previous ? *previous : undefinedBecause("there is no previous item"));
  if (name == "length" || name == "revindex" || name == "revindex0") {
    HEDDLE_ASSIGN(int64_t length, total());
    return some(name == "length" ? length : length - index - int64_t(name == "revindex0"));
  }
  if (name == "depth" || name == "depth0")
    return some(level + int64_t(name == "depth"));
  if (name == "cycle")
    return std::optional(method("cycle", &Loop::cycle));
  if (name == "changed")
    return std::optional(method("changed", &Loop::changed));
  return std::optional<Value>();
}

Result<Value> Loop::call(Environment &, Arguments arguments) {
  if (!statement.isRecursive)
    return typeError("The loop must have the 'recursive' marker to be called recursively.");
  if (!around)
    return runtimeError("the loop has ended, and cannot be called");
  if (arguments.positional.size() != 1 || !arguments.named.empty())
    return typeError("loop() takes one argument, what to visit");
  HEDDLE_ASSIGN(std::string text, interpreter.renderLoop(statement, arguments.positional[0], around, level + 1));
  return makeText(std::move(text));
}

Result<Value> Loop::cycle(Arguments &arguments) {
  if (arguments.positional.empty())
    return typeError("no items for cycling given");
  return arguments.positional[size_t(index) % arguments.positional.size()];
}

Result<Value> Loop::changed(Arguments &arguments) {
  Budget &budget = interpreter.environment().budget;
  bool isSame = seen && seen->size() == arguments.positional.size() &&
                std::equal(seen->begin(), seen->end(), arguments.positional.begin(),
                           [&](const Value &left, const Value &right) { return equal(left, right, budget); });
  seen = arguments.positional;
  return Value(!isSame);
}

} // namespace heddle::chat
