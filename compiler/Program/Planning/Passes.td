// The passes of this folder. TableGen makes flags, options and a reference page from this file (docs/add-a-pass.md).

include "mlir/Pass/PassBase.td"

def PlanPass : Pass<"heddle-plan", "::mlir::ModuleOp"> {
  let summary = "Turn entry points into launches over a static arena and the variables";
  let description = [{
    Replaces each function of launches by a `plan.entry`. With `max-allocation` the arena consists of blocks of at most
    that many bytes, and the device allocates each block separately. A larger tensor or variable is an error.
  }];
  let options = [
    Option<"maxAllocation", "max-allocation", "int64_t", /*default=*/"0", "Bytes that the device allocates at once; 0: any number">
  ];
  let dependentDialects = ["::mlir::plan::PlanDialect"];
}
