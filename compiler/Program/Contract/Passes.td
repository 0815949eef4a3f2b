// The passes of this folder. TableGen makes flags, options and a reference page from this file (docs/add-a-pass.md).

include "mlir/Pass/PassBase.td"

def DeriveContractPass : Pass<"heddle-derive-contract", "::mlir::ModuleOp"> {
  let summary = "Find which rows inputs may name, from the ops that index";
  let description = [{
    Runs on graphs of tensors. If an op indexes rows by values that come from inputs, the inputs get limits
    (`heddle.limit`, the tightest that applies), or the entry gets conditions on several inputs (`plan.segments`).
    Variables that hold indices get limits too. Warns about indices that it can neither bound nor trace to inputs.
  }];
  let dependentDialects = ["::mlir::plan::PlanDialect"];
}
