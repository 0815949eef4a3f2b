// One step of the optimizer on a set of weights, as ops: of Adam (5.3 of "Attention Is All You Need"), or of a text.
#pragma once

#include "compiler/Graph/Autodiff/Backward.h"
#include "dialects/Heddle/VariableRoles.h"

namespace mlir::heddle {

/// The attributes that `heddle.minimize` and `heddle.apply` share.
struct OptimizerOptions {
  Region &rate; // computes the rate from the step's number
  FloatAttr beta1, beta2, epsilon;
  double clipNorm;
  FloatAttr weightDecay;     // null: weights do not shrink
  FloatAttr averageDecay;    // null: no average is kept
  IntegerAttr scaleInterval; // null: the loss is not scaled

  template <typename OpTy> static OptimizerOptions of(OpTy op) {
    return {op.getRate(),
            op.getBeta1Attr(),
            op.getBeta2Attr(),
            op.getEpsilonAttr(),
            op.getClipNorm().convertToDouble(),
            op.getWeightDecayAttr(),
            op.getAverageDecayAttr(),
            op.getScaleIntervalAttr()};
  }
};

Value buildRead(OpBuilder &builder, Location loc, VariableOp variable);

/// Builds the update before `root`, and the writes of weights, moments and step counter at the end of the block, after
/// everything that reads them. Returns the learning rate. Fails after an error if a variable is missing.
FailureOr<Value> buildOptimizerStep(Operation *root, const OptimizerOptions &options, ArrayRef<WeightGradient> weights,
                                    const VariableRoles &variables);

} // namespace mlir::heddle
