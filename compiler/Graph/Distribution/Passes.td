// The passes of this folder. Their flags, options and reference page are generated from this file (docs/add-a-pass.md).

include "mlir/Pass/PassBase.td"

def DistributePass : Pass<"heddle-distribute", "::mlir::ModuleOp"> {
  let summary = "Sum the gradients of all ranks in the entries that several ranks run";
  let description = [{
    Sums the gradients of all ranks in the entries that several ranks run: between the backward pass and whatever the optimizer
    does with a gradient, its norm among that. Gradients travel in buckets, in the order in which the backward pass makes them. Runs
    after `fuse-updates`, as the gradients of all biases and gains are one tensor then.
    With `shard-optimizer` each rank keeps a part of the optimizer's state and updates a part of the weights, which ranks then hand on to
    each other ("ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", stage 1). A rank gets the sums of those rows of
    the gradients, too; where the optimizer uses more of a bucket's gradient (for a norm, say), it gets them all.
  }];
  let options = [
    Option<"shards", "shard-optimizer", "bool", /*default=*/"false", "Let each rank keep a part of the optimizer's state">
  ];
  let dependentDialects = ["::mlir::heddle::HeddleDialect"];
}
