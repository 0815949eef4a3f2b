// The passes of this room. Flags, options and a reference page are generated from this file (docs/add-a-pass.md).

include "mlir/Pass/PassBase.td"

def ElaborateUpdatesPass : Pass<"heddle-elaborate-updates", "::mlir::ModuleOp"> {
  let summary = "Evaluate the optimizer's text for each weight that is trained";
  let description = [{
    Replaces `heddle.optimizer` by a function for each shape and role of weights, which computes the step of the text's part
    `update`, and by a variable for each state of each weight. A weight's attribute `heddle.update` names its function.
    `heddle-differentiate` puts the functions where the gradients are. Runs after `heddle-add-adapters`, which decides which
    weights are trained.
  }];
  let options = [Option<"steps", "steps", "bool", /*default=*/"true", "Whether the module trains; without it the text is dropped">];
  let dependentDialects = ["::mlir::heddle::HeddleDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::func::FuncDialect"];
}
