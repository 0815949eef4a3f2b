// The passes of this folder. TableGen makes flags, options and a reference page from this file (docs/add-a-pass.md).

include "mlir/Pass/PassBase.td"

def ExpandMathPass : Pass<"heddle-expand-math", "::mlir::tile::FuncOp"> {
  let summary = "Replace functions that a GPU has no instruction for";
  let description = [{
    Runs on tile.func ops that are lowered to lanes. Replaces functions for which a GPU has no accurate instruction by
    arithmetic that is accurate to a few units in the last place.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
}

def LowerToNvvmPass : Pass<"heddle-lower-to-nvvm", "::mlir::ModuleOp"> {
  let summary = "Turn each kernel into a module of NVVM code";
  let description = [{
    Runs on a module. Each tile.func, already lowered to lanes, becomes a gpu.module of the same name with the entry
    point `main`, for the architecture `chip`. Launches find it by its name. README.md describes the calling convention.
  }];
  let options = [
    Option<"chip", "chip", "std::string", /*default=*/"\"sm_80\"", "The architecture to compile for">
  ];
  let dependentDialects = ["::mlir::cf::ControlFlowDialect", "::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"];
}
