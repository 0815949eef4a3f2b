// The passes of compiler/Kernel/Tiling. Flags, options and a reference page are generated from this file
// (docs/add-a-pass.md).

include "mlir/Pass/PassBase.td"

def JoinDeltasPass : Pass<"heddle-join-deltas", "::mlir::ModuleOp"> {
  let summary = "Compute an attention's delta in the kernel of the matmul that makes the gradient of its result";
  let description = [{
    Moves each `attention_delta` of a gradient that a matmul on tensor cores makes to the matmul's kernel, if the tiles of its result have
    whole heads. Runs after `fuse-kernels` and before `split-kernels`. If a kernel had a cost, the cost of the new kernel is
    counted.
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"kDefaultTarget.str()", "Profile that decides the tiles' shapes">
  ];
  let dependentDialects = ["::mlir::heddle::HeddleDialect"];
}

def JoinProductsPass : Pass<"heddle-join-products", "::mlir::ModuleOp"> {
  let summary = "Compute the gradients of several matrices in a launch if one has too few tiles"
                " for the target's processors";
  let description = [{
    Moves matmuls on tensor cores that contract tokens to one kernel if their operands have the same types, and if the cost model expects a
    launch of several to take less time than several launches, whether these are split or not. The rest of each kernel stays
    a kernel. Runs after `fuse-kernels` and before `split-kernels`. If a kernel had a cost, the costs of all new kernels are
    counted.
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"kDefaultTarget.str()", "Profile that says how much runs at once">
  ];
  let dependentDialects = ["::mlir::heddle::HeddleDialect"];
}

def JoinSumsPass : Pass<"heddle-join-sums", "::mlir::ModuleOp"> {
  let summary = "Make sums over rows in a kernel that has the rows at hand";
  let description = [{
    Moves sums over rows to a kernel that makes partial sums. Another kernel adds these up. The kernel is

    * a layer norm's gradient, which sums its operands, its result and what its epilogue computes, if the target's subgroups hold
      whole rows;
    * attention's gradient on tensor cores, if there are few partial sums: one for 64 rows of the longest sequence, for each sequence;
    * a matmul whose workgroups compute several tiles of the result each.

    Needs a target whose number of processors is known. Runs after `fuse-kernels` and before `split-kernels`. If a kernel had a cost, the costs of both new kernels are
    counted.
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"kDefaultTarget.str()", "Profile that says how much runs at once">
  ];
  let dependentDialects = ["::mlir::heddle::HeddleDialect"];
}

def SplitKernelsPass : Pass<"heddle-split-kernels", "::mlir::ModuleOp"> {
  let summary = "Split the rows of a sum and the K dimension of a matmul among workgroups";
  let description = [{
    Splits a kernel in two if it sums many rows and its columns give the target too little parallel work, or if its tensor-core
    matmul has too few tiles for the target's processors. The first kernel computes partial sums or products, and the second
    adds them up. Runs after `fuse-kernels`. If a kernel had a cost, the costs of both new kernels are counted.
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"kDefaultTarget.str()", "Profile that says how much runs at once">
  ];
  let dependentDialects = ["::mlir::heddle::HeddleDialect"];
}

def TilePass : Pass<"heddle-tile", "::mlir::ModuleOp"> {
  let summary = "Turn each heddle.kernel into a workgroup's program";
  let description = [{
    Replaces every heddle.kernel by a tile.launch of a tile.func. Kernels with the same program share a tile.func.
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"kDefaultTarget.str()", "Profile that decides the tiles' shapes">
  ];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect", "::mlir::gpu::GPUDialect", "::mlir::math::MathDialect"];
}
