// The passes of this room: flags, options and a page of reference are made of it (docs/add-a-pass.md).

include "mlir/Pass/PassBase.td"

def PlanPass : Pass<"heddle-plan", "::mlir::ModuleOp"> {
  let summary = "Turn entry points into launches over a static arena and the variables";
  let description = [{
    Replaces each function of launches by a `plan.entry`.
  }];
  let dependentDialects = ["::mlir::plan::PlanDialect"];
}
