// The passes of this folder. TableGen makes flags, options and a reference page from this file (docs/add-a-pass.md).

include "mlir/Pass/PassBase.td"

def ExpandCpuMathPass : Pass<"heddle-expand-cpu-math", "::mlir::tile::FuncOp"> {
  let summary = "Replace functions that a processor has no instruction for";
  let description = [{
    Runs on tile.func ops that are lowered to lanes. Replaces exponentials, logarithms and the other functions of `math`
    by polynomials that are accurate to a few units in the last place, and computes f16 and bf16 in f32. No library
    calls remain.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
}

def LowerToLlvmPass : Pass<"heddle-lower-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Turn each kernel into an LLVM function that runs a range of workgroups";
  let description = [{
    Runs on a module. Each tile.func of one lane, already lowered to lanes, becomes an llvm.func of the same name. The
    function loops over a range of workgroups. README.md describes the calling convention.
  }];
  let dependentDialects = ["::mlir::cf::ControlFlowDialect", "::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect"];
}
