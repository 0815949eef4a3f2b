// The passes of this room. Flags, options and a reference page are generated from this file (docs/add-a-pass.md).

include "mlir/Pass/PassBase.td"

def DifferentiatePass : Pass<"heddle-differentiate", "::mlir::ModuleOp"> {
  let summary = "Replace heddle.minimize, .accumulate and .apply by the backward pass and the optimizer";
  let description = [{
    Gradients are ordinary ops. The gradient rules of the forward pass's ops (`DifferentiableOpInterface`) build them,
    from the loss back to the weights. The optimizer's writes come last.
  }];
  let dependentDialects = ["::mlir::heddle::HeddleDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def InlineUpdatesPass : Pass<"heddle-inline-updates", "::mlir::func::FuncOp"> {
  let summary = "Replace heddle.update by the ops of its region";
  let description = [{
    The optimizer's text then becomes kernels like all other ops. Runs after `heddle-distribute`, which finds the gradients by
    `heddle.update`. Equal ops of several updates, such as powers of a decay, become one.
  }];
}
