// The ops from a lone query's scores to the numbers with which its kernel sums over pairs: scores, weights (or their
// gradients), and elementwise ops on both. The kernel computes all of them.
//
//   forward                                 backward (P: the weights)
//   s = scores(query, keys)                 g = scores(gradient of the context, values)
//   p = softmax(mask(s))                    d = P * (g - sum of P * g)
//   context = sum of p * values             gradient of the query = sum of d * slope(query, keys)
#pragma once

#include "compiler/Kernel/Tiling/Attention/Pairs.h"

#include "llvm/ADT/SetVector.h"

namespace mlir::heddle {

class ScoreChain {
public:
  /// Returns nothing if `pairs` does not follow from one scores op and one softmax (or gradient of a softmax).
  static std::optional<ScoreChain> of(Value pairs);

  /// Returns the ops of the chain, and those that store their results as rows of a step. Empty if there is no chain, or
  /// if the anchor's kernel cannot compute it.
  static SmallVector<Operation *> opsOf(Operation *anchor, const Attention &attention, Value pairs);

  /// Computes the owned query's row of numbers in shared memory, and returns the memory. `finished` fails if results of
  /// the chain cannot be stored.
  Value emitRow(PairsFrame &frame, LogicalResult &finished) const;

private:
  /// The value, computed from the scores, that softmax or its gradient reads.
  Value input() const { return weights->getOperand(isa<SoftmaxGradOp>(weights) ? 1 : 0); }
  /// Returns true if later ops read only what the row holds at their time: the numbers overwrite the weights' input.
  bool readsInOrder(Operation *op) const;

  Value pairs;
  SetVector<Operation *> ops;         // in an order in which they can be computed
  DenseSet<Operation *> afterWeights; // those that use the weights, and softmax or its gradient itself
  ScoresOp scores;
  Operation *weights = nullptr; // softmax or its gradient
};

} // namespace mlir::heddle
