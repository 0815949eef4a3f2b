// The passes of this room: flags, options and a page of reference are made of it (docs/add-a-pass.md).

include "mlir/Pass/PassBase.td"

def ExpandCpuMathPass : Pass<"heddle-expand-cpu-math", "::mlir::tile::FuncOp"> {
  let summary = "Replace functions that a processor has no instruction for";
  let description = [{
    On tile.func lowered to lanes: replaces exponentials, logarithms and the other functions of `math` by polynomials
    right to a few units in the last place, and computes f16 and bf16 in f32. No call of a library is left.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
}

def LowerToLlvmPass : Pass<"heddle-lower-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Turn each kernel into an LLVM function that runs a range of workgroups";
  let description = [{
    On a module: each tile.func of one lane, already lowered to lanes, becomes an llvm.func of its name. The function
    loops over the workgroups that it is asked for. README.md has the calling convention.
  }];
  let dependentDialects = ["::mlir::cf::ControlFlowDialect", "::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect"];
}
