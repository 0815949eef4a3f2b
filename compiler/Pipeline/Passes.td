// The passes of this folder. TableGen makes flags, options and a reference page from this file (docs/add-a-pass.md).

include "mlir/Pass/PassBase.td"

def VerifyEntriesPass : Pass<"heddle-verify-entries", "::mlir::ModuleOp"> {
  let summary = "Check that kernels take every tensor of an entry, and that the runtime takes its ports, sizes and seeds";
  let description = [{
    Fails with errors at tensors, ports, sizes and seeds that kernels or the runtime reject.
  }];
}

def VerifyPhasePass : Pass<"heddle-verify-phase", "::mlir::ModuleOp"> {
  let summary = "Check that a module holds only ops that are legal after a phase";
  let description = [{
    Fails with an error at the first op that is not legal after a phase, or that MLIR's verifier rejects.
  }];
  let options = [
    Option<"name", "phase", "std::string", /*default=*/"\"import\"", "The phase that the module comes from">
  ];
}
