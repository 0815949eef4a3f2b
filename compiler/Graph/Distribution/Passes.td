// The passes of this folder. Their flags, options and reference page are generated from this file (docs/add-a-pass.md).

include "mlir/Pass/PassBase.td"

def DistributePass : Pass<"heddle-distribute", "::mlir::ModuleOp"> {
  let summary = "Sum the gradients of all ranks in the entries that several ranks run";
  let description = [{
    Sums the gradients of all ranks in the entries that several ranks run. The sums come after the backward pass, and before the
    optimizer uses a gradient or its norm. Gradients travel in buckets, in the order in which the backward pass computes them. Runs
    after `fuse-updates`, because the gradients of all biases and gains are one tensor then.
    With `shard-optimizer` each rank keeps a part of the optimizer's state and updates a part of the weights. The ranks then exchange
    the updated rows ("ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", stage 1). A rank gets the sums only of its
    own rows of the gradients. If the optimizer uses whole gradients of a bucket, for example for a norm, a rank gets all of its sums.
  }];
  let options = [
    Option<"shards", "shard-optimizer", "bool", /*default=*/"false", "Let each rank keep a part of the optimizer's state">
  ];
  let dependentDialects = ["::mlir::heddle::HeddleDialect"];
}
