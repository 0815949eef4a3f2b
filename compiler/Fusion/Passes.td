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
    gradients of both. The logits of all tokens are never in memory together.
  }];
  let options = [
    Option<"chunkRows", "rows", "int64_t", /*default=*/"0", "Tokens of a chunk, of which there are at most 4096; 0: as many as make chunks large and few, and no chunks of small logits">
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

def KeepRoundedPass : Pass<"heddle-keep-rounded", "::mlir::ModuleOp"> {
  let summary = "Keep the 16-bit copies of weights from call to call";
  let description = [{
    On a module after `heddle-set-precision`: what weights are rounded to is a variable of its
    own beside each of them. Entries read it; those that give the weight a new value give it one too; and an entry of
    its own, `round_weights`, makes all of them, for weights that come from elsewhere.
  }];
  let dependentDialects = ["::mlir::heddle::HeddleDialect", "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect"];
}

def LowerWindowsPass : Pass<"heddle-lower-windows", "::mlir::func::FuncOp"> {
  let summary = "Replace matmuls of windows by sums of matmuls of shifted rows";
  let description = [{
    Takes `heddle.unfold` of several offsets apart, and products of windows, so that no window is in
    memory; without `products` all windows are.
  }];
  let options = [
    Option<"products", "products", "bool", /*default=*/"true", "Multiply rows where they stand; without, windows are made for products too">
  ];
  let dependentDialects = ["::mlir::heddle::HeddleDialect", "::mlir::arith::ArithDialect"];
}

def ReadRoundedPass : Pass<"heddle-read-rounded", "::mlir::func::FuncOp"> {
  let summary = "Read the rounded copy of a value if that is precise enough";
  let description = [{
    On func.func after `heddle-set-precision`. If a value has been rounded to 16 bits for a matmul, some ops read the rounded
    value instead: sums over rows, comparisons with zero, and `heddle.attention_delta`. The f32 value is then often not written at
    all.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def RecomputePass : Pass<"heddle-recompute", "::mlir::ModuleOp"> {
  let summary = "Recompute values that are cheaper to compute than to keep (rematerialisation)";
  let description = [{
    Looks at the values that are kept while an entry needs the most memory. If the policy allows it and a value can be computed
    from others that are kept anyway, it is computed again before its next use. Results do not change in any bit.
  }];
  let dependentDialects = ["::mlir::heddle::HeddleDialect"];
  let options = [
    Option<"name", "policy", "std::string", /*default=*/"\"cheap\"", "none, cheap or products">
  ];
}

def RoundCachesPass : Pass<"heddle-round-caches", "::mlir::ModuleOp"> {
  let summary = "Keep keys and values in 16 bits from token to token";
  let description = [{
    On a module whose attention is fused. Caches that only fused attention reads become f16 or bf16, and rows are rounded as they
    are written to a cache. Queries, scores and sums stay as they are. The pass fails if it can round no cache.
  }];
  let options = [
    Option<"format", "format", "std::string", /*default=*/"\"f16\"", "f16 or bf16">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def RoundMomentsPass : Pass<"heddle-round-moments", "::mlir::ModuleOp"> {
  let summary = "Keep Adam's moments of matrices in bf16 from step to step";
  let description = [{
    On a differentiated module whose variables have their final storage. Both moments of each matrix become bf16, and its update
    rounds them stochastically (`heddle.adam`). Moments of vectors stay f32, and so do moments of matrices with an odd number of
    columns or a number of elements that is no multiple of 128. The pass fails if it can round no moment.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def SetPrecisionPass : Pass<"heddle-set-precision", "::mlir::func::FuncOp"> {
  let summary = "Round the operands of matmuls to fewer bits";
  let description = [{
    On func.func before it is cut into kernels: rounds each factor of a product once, where it
    is made, so that it is written and read with 16 bits; or marks the product, whose kernel then rounds to tf32.
    Attention with heads of other widths than the targets' tensor cores take stays in f32.
  }];
  let options = [
    Option<"name", "precision", "std::string", /*default=*/"\"bf16\"", "f32, bf16, f16 or tf32">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}
