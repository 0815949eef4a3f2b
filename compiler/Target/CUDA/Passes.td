// The passes of this room: flags, options and a page of reference are made of it (docs/add-a-pass.md).

include "mlir/Pass/PassBase.td"

def ExpandMathPass : Pass<"heddle-expand-math", "::mlir::tile::FuncOp"> {
  let summary = "Replace functions that a GPU has no instruction for";
  let description = [{
    On tile.func lowered to lanes: replaces the functions that a GPU has no instruction for, or
    only a rough one, by arithmetic right to a few units in the last place.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
}

def LowerToNvvmPass : Pass<"heddle-lower-to-nvvm", "::mlir::ModuleOp"> {
  let summary = "Turn each kernel into a module of NVVM code";
  let description = [{
    On a module: each tile.func, already lowered to lanes, becomes a gpu.module of its name with
    the entry point `main`, for the architecture `chip`. Launches find it by that name. README.md has the calling
    convention.
  }];
  let options = [
    Option<"chip", "chip", "std::string", /*default=*/"\"sm_80\"", "The architecture to compile for">
  ];
  let dependentDialects = ["::mlir::cf::ControlFlowDialect", "::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"];
}
