// Limits the recursion depth of the interpreter.
#pragma once

#include "runtime/chat/Interpreter.h"

namespace heddle::chat {

class Interpreter::Nesting {
public:
  // A call of a macro or loop uses as much stack as several levels.
  static constexpr unsigned kCall = 4;

  explicit Nesting(Interpreter &interpreter, unsigned levels = 1) : interpreter(interpreter), levels(levels) {
    interpreter.depth += levels;
  }
  Nesting(const Nesting &) = delete;
  ~Nesting() { interpreter.depth -= levels; }

  // Counts a step of the budget. Fails if the recursion is too deep, for example in a macro that always calls itself.
  Status check() {
    if (interpreter.depth > kDeepest)
      return makeError(ErrorKind::Unsupported,
                       "RecursionError: macros or expressions of the template recurse more than ", kDeepest, " deep");
    return interpreter.env.budget.step();
  }

private:
  // A level uses up to 1 KiB of the stack, or 4 KiB with the address sanitizer and without optimisation.
  static constexpr unsigned kDeepest = 1600;

  Interpreter &interpreter;
  unsigned levels;
};

} // namespace heddle::chat
