// Reverse-mode differentiation of straight-line code.
#ifndef HEDDLE_COMPILER_AUTODIFF_BACKWARD_H
#define HEDDLE_COMPILER_AUTODIFF_BACKWARD_H

#include "dialects/Heddle/Heddle.h"
#include "mlir/IR/Builders.h"

namespace mlir::heddle {

/// A weight, its value where the forward pass first read it, and the gradient of the loss with respect to it.
struct WeightGradient {
  VariableOp weight;
  Value value;
  Value gradient;
};

/// Builds, before `root`, the gradient of `loss`, or of `scale` times it if that is not null, with respect to every
/// weight that it depends on, in the order in which the block first reads them. Emits an error and fails where an op in
/// between has no rule. Leaves dead code behind: rules build more than is needed.
FailureOr<SmallVector<WeightGradient>> buildBackward(Operation *root, Value loss, Value scale, SymbolTable &symbols);

/// `a` plus `b`. Rows that one of them is the sum of are scattered onto the other one: a pass over the whole table is
/// saved where an embedding is tied to a matrix product, or accumulated.
Value addGradients(OpBuilder &builder, Location loc, Value a, Value b);

} // namespace mlir::heddle

#endif
