// The passes of this folder. TableGen makes flags, options and a reference page from this file (docs/add-a-pass.md).

include "mlir/Pass/PassBase.td"

def HoistScansPass : Pass<"heddle-hoist-scans", "::mlir::func::FuncOp"> {
  let summary = "Move work that does not depend on states out of scans, to run for all tokens at once";
  let description = [{
    Computations that depend only on rows and constants move before the scan. Computations that no state depends on move
    behind the scan. Both then run for all tokens at once.
  }];
}

def LowerScansPass : Pass<"heddle-lower-scans", "::mlir::ModuleOp"> {
  let summary = "Turn scans into repetitions over rows in the order of steps";
  let description = [{
    Each `heddle.scan` of an entry becomes a `heddle.repeat` on tokens in step order: sequences are sorted by falling
    length, so that the rows of a step are contiguous and there is no padding.
  }];
}

def SeparateStatesPass : Pass<"heddle-separate-states"> {
  let summary = "Copy states and new values that a kernel cannot write in place, and parts of a tensor that are stored elsewhere";
  let description = [{
    Runs after `heddle-fuse-kernels`. If a kernel cannot write a new state over the old one, adds a kernel that copies
    the state at the end of the step. The same goes for a variable whose old value another kernel needs together with the new one.
  }];
}
