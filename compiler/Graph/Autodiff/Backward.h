// Reverse-mode differentiation of straight-line code.
#pragma once

#include "dialects/Heddle/Heddle.h"
#include "mlir/IR/Builders.h"

namespace mlir::heddle {

/// A weight, its value at the first read of the forward pass, and the gradient of the loss with respect to it.
struct WeightGradient {
  VariableOp weight;
  Value value;
  Value gradient;
};

/// Builds, before `root`, the gradient of `loss` (times `scale` if that is not null) with respect to every weight that
/// it depends on. The weights are in the order of their first reads in the block. Fails after an error if an op in
/// between has no rule. Leaves dead code behind, because rules build more than is needed.
FailureOr<SmallVector<WeightGradient>> buildBackward(Operation *root, Value loss, Value scale, SymbolTable &symbols);

/// Returns `a` plus `b`. If one of them is a sum of rows by index, its rows are scattered onto the other one. This
/// saves a pass over the whole table if an embedding is tied to a matmul, or if gradients are accumulated.
Value addGradients(OpBuilder &builder, Location loc, Value a, Value b);

} // namespace mlir::heddle
