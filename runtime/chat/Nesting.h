// How deep the interpreter has recursed.
#pragma once

#include "runtime/chat/Interpreter.h"

namespace heddle::chat {

class Interpreter::Nesting {
public:
  explicit Nesting(Interpreter &interpreter) : interpreter(interpreter) { ++interpreter.depth; }
  Nesting(const Nesting &) = delete;
  ~Nesting() { --interpreter.depth; }

  // Counts a step of the budget. Fails if the recursion is too deep, as that of a macro that calls itself always.
  Status check() {
    if (interpreter.depth > kDeepest)
      return makeError(ErrorKind::Unsupported,
                       "RecursionError: macros or expressions of the template recurse more than ", kDeepest, " deep");
    return interpreter.env.budget.step();
  }

private:
  // A level takes about a KiB of the stack, or three under the address sanitizer.
  static constexpr unsigned kDeepest = 1600;

  Interpreter &interpreter;
};

} // namespace heddle::chat
