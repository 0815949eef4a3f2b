// The passes of this room: flags, options and a page of reference are made of it (docs/add-a-pass.md).

include "mlir/Pass/PassBase.td"

def DifferentiatePass : Pass<"heddle-differentiate", "::mlir::ModuleOp"> {
  let summary = "Replace heddle.minimize, .accumulate and .apply by the backward pass and the optimizer";
  let description = [{
    Gradients are ordinary ops, made by the rules of the forward pass' ops (`DifferentiableOpInterface`) from the loss back to the weights. The
    optimizer's writes come last.
  }];
  let dependentDialects = ["::mlir::heddle::HeddleDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}
