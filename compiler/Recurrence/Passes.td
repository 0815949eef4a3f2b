// The passes of this room: flags, options and a page of reference are made of it (docs/add-a-pass.md).

include "mlir/Pass/PassBase.td"

def HoistScansPass : Pass<"heddle-hoist-scans", "::mlir::func::FuncOp"> {
  let summary = "Move work on rows, constants or outputs alone out of scans, where it is done for all tokens at once";
  let description = [{
    What a step makes of rows and constants alone is made before the scan, for all tokens at once.
  }];
}

def LowerScansPass : Pass<"heddle-lower-scans", "::mlir::ModuleOp"> {
  let summary = "Turn scans into repetitions over rows in the order of steps";
  let description = [{
    Each `heddle.scan` of an entry becomes a `heddle.repeat`. Within it tokens are in the order of
    steps: sequences are sorted by falling length, so that a step's rows lie together and no row is padding.
  }];
}

def SeparateStatesPass : Pass<"heddle-separate-states"> {
  let summary = "Copy states that cannot be written over the old ones, and parts of a tensor that stand elsewhere";
  let description = [{
    After `heddle-fuse-kernels`, gives a state that a kernel cannot write over the old one a
    kernel that copies it, at the end of the step.
  }];
}
