// Launch grids, in a file without enums: the plan dialect includes it, and tablegen would generate included enums
// twice.
#ifndef TILE_GRID_TD
#define TILE_GRID_TD

include "dialects/Tile/TileDialect.td"
include "mlir/IR/AttrTypeBase.td"

def Tile_GridAttr : AttrDef<Tile_Dialect, "Grid"> {
  let mnemonic = "grid";
  let summary = "Workgroups along one axis: ceil(size / tile) * repeat, or just `repeat` if no size is named";
  let parameters = (ins StringRefParameter<>:$size, "int64_t":$tile, "int64_t":$repeat);
  let assemblyFormat = "`<` $size `,` $tile `,` $repeat `>`";
}
def Tile_GridArrayAttr : TypedArrayAttrBase<Tile_GridAttr, "one grid attribute an axis">;

def Tile_VariantAttr : AttrDef<Tile_Dialect, "Variant"> {
  let mnemonic = "variant";
  let summary = "Another kernel for the results of a launch, with its own grid and sizes";
  let parameters = (ins "FlatSymbolRefAttr":$kernel, "ArrayAttr":$grid, "ArrayAttr":$sizes);
  let assemblyFormat = "`<` $kernel `grid` $grid `sizes` $sizes `>`";
}
def Tile_VariantArrayAttr : TypedArrayAttrBase<Tile_VariantAttr, "variants of a launch">;

#endif
