// The passes of this room: flags, options and a page of reference are made of it (docs/add-a-pass.md).

include "mlir/Pass/PassBase.td"

def PlanPass : Pass<"heddle-plan", "::mlir::ModuleOp"> {
  let summary = "Turn entry points into launches over a static arena and the variables";
  let description = [{
    Replaces each function of launches by a `plan.entry`. With `max-allocation` the arena is a row of blocks of at most so many
    bytes, each of which the device allocates by itself. A tensor or a variable that is larger is an error.
  }];
  let options = [
    Option<"maxAllocation", "max-allocation", "int64_t", /*default=*/"0", "Bytes that the device allocates at once; 0: any number">
  ];
  let dependentDialects = ["::mlir::plan::PlanDialect"];
}
