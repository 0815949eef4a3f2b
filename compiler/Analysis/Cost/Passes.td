// The passes of compiler/Analysis/Cost. Flags, options and a reference page are generated from this file
// (docs/add-a-pass.md).

include "mlir/Pass/PassBase.td"

def CountCostsPass : Pass<"heddle-count-costs", "::mlir::ModuleOp"> {
  let summary = "Count the arithmetic and the memory traffic of each kernel";
  let description = [{
    Sets the attribute `heddle.cost` on every heddle.kernel.
  }];
}
