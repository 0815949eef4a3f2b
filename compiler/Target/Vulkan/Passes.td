// The passes of this folder. TableGen makes flags, options and a reference page from this file (docs/add-a-pass.md).

include "mlir/Pass/PassBase.td"

def LowerToSpirvPass : Pass<"heddle-lower-to-spirv", "::mlir::ModuleOp"> {
  let summary = "Turn each kernel into a SPIR-V module";
  let description = [{
    Runs on a module. Each tile.func, already lowered to lanes, becomes a spirv.module of the same name with the entry
    point `main`. Launches find it by its name. README.md describes the calling convention. With `texelLoads`,
    matrices that a kernel only reads are also bound as texel buffers and loaded from there.
  }];
  let options = [
    Option<"texelLoads", "texel-loads", "bool", /*default=*/"false", "Read matrices that a kernel does not write through texel buffers">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::spirv::SPIRVDialect"];
}
