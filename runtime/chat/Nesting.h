// How deep the interpreter has recursed.
#pragma once

#include "runtime/chat/Interpreter.h"

namespace heddle::chat {

class Interpreter::Nesting {
public:
  // A call of a macro or of a loop takes as much of the stack as several levels.
  static constexpr unsigned kCall = 4;

  explicit Nesting(Interpreter &interpreter, unsigned levels = 1) : interpreter(interpreter), levels(levels) {
    interpreter.depth += levels;
  }
  Nesting(const Nesting &) = delete;
  ~Nesting() { interpreter.depth -= levels; }

  // Counts a step of the budget. Fails if the recursion is too deep, as that of a macro that calls itself always.
  Status check() {
    if (interpreter.depth > kDeepest)
      return makeError(ErrorKind::Unsupported,
                       "RecursionError: macros or expressions of the template recurse more than ", kDeepest, " deep");
    return interpreter.env.budget.step();
  }

private:
  // A level takes up to a KiB of the stack, or four without optimisation under the address sanitizer.
  static constexpr unsigned kDeepest = 1600;

  Interpreter &interpreter;
  unsigned levels;
};

} // namespace heddle::chat
