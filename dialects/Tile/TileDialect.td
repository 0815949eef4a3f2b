// The tile dialect: one workgroup's program. README.md beside this file has the rationale.
#ifndef TILE_DIALECT_TD
#define TILE_DIALECT_TD

include "mlir/IR/OpBase.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let summary = "How one workgroup computes a kernel: loads, stores, matmuls and reductions of tiles";
  let description = [{
    A tile is a builtin rank-2 tensor of static shape. Once `layout` has run, its encoding is the tile's layout: which
    lane holds which element. Elementwise work on tiles is plain `arith` and `math`, and loops are `scf`.
  }];
  let cppNamespace = "::mlir::tile";
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect"];
}

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits>;

#endif
