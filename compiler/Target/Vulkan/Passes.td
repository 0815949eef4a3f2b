// The passes of this room: flags, options and a page of reference are made of it (docs/add-a-pass.md).

include "mlir/Pass/PassBase.td"

def LowerToSpirvPass : Pass<"heddle-lower-to-spirv", "::mlir::ModuleOp"> {
  let summary = "Turn each kernel into a SPIR-V module";
  let description = [{
    On a module: each tile.func, already lowered to lanes, becomes a spirv.module of its name
    with the entry point `main`. Launches find it by that name. README.md has the calling convention. With
    `texelLoads`, matrices of f32 that a kernel only reads are also bound as texel buffers, and vectors read from there.
  }];
  let options = [
    Option<"texelLoads", "texel-loads", "bool", /*default=*/"false", "Read vectors of matrices that a kernel does not write through texel buffers">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::spirv::SPIRVDialect"];
}
