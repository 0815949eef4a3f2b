// The passes of this room: flags, options and a page of reference are made of it (docs/add-a-pass.md).

include "mlir/Pass/PassBase.td"

def SplitProductsPass : Pass<"heddle-split-products", "::mlir::ModuleOp"> {
  let summary = "Share the contracted dimension out among workgroups";
  let description = [{
    Makes two kernels of one whose product, on tensor cores, has too few tiles for the target's processors: the first
    one's products are partial, and the second adds them up. Runs after `fuse-kernels`; kernels whose costs were counted
    have them counted anew.
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"kDefaultTarget.str()", "Profile that says how many processors there are">
  ];
  let dependentDialects = ["::mlir::heddle::HeddleDialect"];
}

def SplitSumsPass : Pass<"heddle-split-sums", "::mlir::ModuleOp"> {
  let summary = "Share the rows of a sum out among workgroups";
  let description = [{
    Makes two kernels of one that sums many rows where its columns alone keep too little of the target busy: the first
    one's sums are partial, and the second adds them up. Runs after `fuse-kernels`;
    kernels whose costs were counted have them counted anew.
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"kDefaultTarget.str()", "Profile that says how much runs at once">
  ];
  let dependentDialects = ["::mlir::heddle::HeddleDialect"];
}

def TilePass : Pass<"heddle-tile", "::mlir::ModuleOp"> {
  let summary = "Turn each heddle.kernel into the program of a workgroup";
  let description = [{
    Replaces every heddle.kernel by a tile.launch of a tile.func, shared where two kernels are the same.
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"kDefaultTarget.str()", "Profile that decides the tiles' shapes">
  ];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect", "::mlir::gpu::GPUDialect", "::mlir::math::MathDialect"];
}
