// The passes of this room: flags, options and a page of reference are made of it (docs/add-a-pass.md).

include "mlir/Pass/PassBase.td"

def CountCostsPass : Pass<"heddle-count-costs", "::mlir::ModuleOp"> {
  let summary = "Count the arithmetic and the memory traffic of each kernel";
  let description = [{
    Gives every heddle.kernel its `heddle.cost`.
  }];
}
