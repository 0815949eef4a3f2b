// The passes of this room: flags, options and a page of reference are made of it (docs/add-a-pass.md).

include "mlir/Pass/PassBase.td"

def DeriveContractPass : Pass<"heddle-derive-contract", "::mlir::ModuleOp"> {
  let summary = "Find which rows inputs may name, from the ops that index";
  let description = [{
    On graphs of tensors: where an op indexes rows by values that inputs bring, the inputs get
    limits (`heddle.limit`, the tighter of two counts) or the entry gets conditions on several of them
    (`plan.segments`). Variables of indices get limits too. Warns of indices that it can neither bound nor follow back
    to inputs.
  }];
  let dependentDialects = ["::mlir::plan::PlanDialect"];
}
