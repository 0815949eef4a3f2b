// The function that defines the meaning of each op.
#pragma once

#include "compiler/Reference/Interpreter.h"

namespace mlir::heddle::reference {

class Registry {
public:
  using Evaluate = std::function<LogicalResult(Operation *, Frame &)>;

  /// The only registry, with all ops that the interpreter knows.
  static const Registry &get();

  /// Returns null if the op has no meaning here.
  const Evaluate *find(StringRef op) const {
    auto found = table.find(op);
    return found == table.end() ? nullptr : &found->second;
  }

  /// Adds functions of an op and a frame that make each result of the op. They return nothing, or a LogicalResult.
  template <auto... evaluates> void add() { (addOf<evaluates>(evaluates), ...); }
  template <typename Op> void add(Evaluate evaluate) {
    bool isNew = table.try_emplace(Op::getOperationName(), std::move(evaluate)).second;
    assert(isNew && "an op has one meaning");
    (void)isNew;
  }

private:
  template <auto evaluate, typename Op> void addOf(LogicalResult (*)(Op, Frame &)) {
    add<Op>([](Operation *op, Frame &frame) { return evaluate(cast<Op>(op), frame); });
  }
  template <auto evaluate, typename Op> void addOf(void (*)(Op, Frame &)) {
    add<Op>([](Operation *op, Frame &frame) {
      evaluate(cast<Op>(op), frame);
      return success();
    });
  }

  llvm::StringMap<Evaluate> table;
};

// One function per file.
void addArithmetic(Registry &registry);
void addAttention(Registry &registry);
void addDrawing(Registry &registry);
void addElementwise(Registry &registry);
void addMatrices(Registry &registry);
void addPooling(Registry &registry);
void addRecurrence(Registry &registry);
void addRouting(Registry &registry);
void addScores(Registry &registry);
void addState(Registry &registry);

} // namespace mlir::heddle::reference
