// The passes of this folder. Their flags, options and reference page are generated from this file (docs/add-a-pass.md).

include "mlir/Pass/PassBase.td"

def FuseAttentionPass : Pass<"heddle-fuse-attention"> {
  let summary = "Recognise attention written out op by op and fuse it into heddle.attention";
  let description = [{
    Replaces each attention that is written out op by op by one `heddle.attention`, unless its heads are wider than 256 columns.
  }];
  let dependentDialects = ["::mlir::heddle::HeddleDialect"];
}

def FuseCrossEntropyPass : Pass<"heddle-fuse-cross-entropy", "::mlir::ModuleOp"> {
  let summary = "Compute logits, their cross entropy and the gradients of both one chunk of tokens at a time";
  let description = [{
    Splits the head of a model into chunks of tokens: the linear layer to the vocabulary, the cross entropy of its result, and the
    gradients of both. The logits of all tokens are in memory together only if they are small, also relative to `memory`.
  }];
  let options = [
    Option<"chunkRows", "rows", "int64_t", /*default=*/"0", "Tokens of a chunk, of which there are at most 4096; 0: as many as make chunks large and few, and no chunks of small logits">,
    Option<"logitBytes", "logit-bytes", "int64_t", /*default=*/"4", "Bytes of a logit in memory: 2 if the precision is 16-bit">,
    Option<"memory", "memory", "int64_t", /*default=*/"0", "Bytes of the device's memory; 0: not known">
  ];
  let dependentDialects = ["::mlir::heddle::HeddleDialect", "::mlir::arith::ArithDialect"];
}

def FuseKernelsPass : Pass<"heddle-fuse-kernels", "::mlir::func::FuncOp"> {
  let summary = "Cut each entry into kernels: an anchor with its prologue and epilogue";
  let description = [{
    Wraps all tensor work of each entry in heddle.kernel ops.
  }];
  let options = [
    Option<"fuse", "fuse", "bool", /*default=*/"true", "Let ops join kernels; with false each op is a kernel of its own">
  ];
  let dependentDialects = ["::mlir::heddle::HeddleDialect"];
}

def FuseProjectionsPass : Pass<"heddle-fuse-projections", "::mlir::ModuleOp"> {
  let summary = "Fuse an attention's projections of the same input into a single op, and store their weights together (sibling fusion)";
  let description = [{
    Replaces the linear layers at the start of an attention by one `heddle.project` if they have the same input, and stores their
    weights together. Runs before `differentiate`, so that the backward pass is one op as well.
  }];
  let dependentDialects = ["::mlir::heddle::HeddleDialect"];
}

def FuseUpdatesPass : Pass<"heddle-fuse-updates", "::mlir::ModuleOp"> {
  let summary = "Store all biases and gains together, and update them at once";
  let description = [{
    Stores all vectors among the weights one after the other, likewise their moments and gradients, and replaces their updates by
    one `heddle.adam`. Runs after `differentiate`.
  }];
  let dependentDialects = ["::mlir::heddle::HeddleDialect"];
}

def LowerWindowsPass : Pass<"heddle-lower-windows", "::mlir::func::FuncOp"> {
  let summary = "Replace matmuls of windows by sums of matmuls of shifted rows";
  let description = [{
    Replaces a matmul of windows (`heddle.unfold` of several offsets) by a sum of matmuls of shifted rows, so that no
    window is in memory. Without `products`, all windows are written to memory.
  }];
  let options = [
    Option<"products", "products", "bool", /*default=*/"true", "Multiply rows where they stand; without, windows are made for products too">
  ];
  let dependentDialects = ["::mlir::heddle::HeddleDialect", "::mlir::arith::ArithDialect"];
}

def RecomputePass : Pass<"heddle-recompute", "::mlir::ModuleOp"> {
  let summary = "Recompute values that are cheaper to compute than to keep (rematerialisation)";
  let description = [{
    Looks at the values that are kept while an entry needs the most memory. If the policy allows it and a value can be computed
    from others that are kept anyway, it is computed again before its next use. Results do not change in any bit.

    With the policy `auto`, an entry keeps all values if its tensors and all variables take at most half of `memory`. Otherwise
    its cheap values are recomputed.
  }];
  let dependentDialects = ["::mlir::heddle::HeddleDialect"];
  let options = [
    Option<"name", "policy", "std::string", /*default=*/"\"cheap\"", "none, cheap, products or auto">,
    Option<"memory", "memory", "int64_t", /*default=*/"0", "Bytes of the device's memory, for the policy auto; 0: not known">
  ];
}

def SplitKeysPass : Pass<"heddle-split-keys", "::mlir::ModuleOp"> {
  let summary = "Cut a long cache into parts, to each of which a workgroup computes attention";
  let description = [{
    Attention of one query for each sequence, as in decoding, has a workgroup for a head only. If its caches are long, this pass
    cuts the keys into parts with results of their own, and merges the results with `heddle.merge_parts`.
  }];
  let dependentDialects = ["::mlir::heddle::HeddleDialect"];
}
