// Launch grids. The plan dialect has them too, and an enum that its files included would be generated for it a second time.
#ifndef TILE_GRID_TD
#define TILE_GRID_TD

include "dialects/Tile/TileDialect.td"
include "mlir/IR/AttrTypeBase.td"

def Tile_GridAttr : AttrDef<Tile_Dialect, "Grid"> {
  let mnemonic = "grid";
  let summary = "Workgroups along one axis: ceil(size / tile) * repeat, or `repeat` where no size is named";
  let parameters = (ins StringRefParameter<>:$size, "int64_t":$tile, "int64_t":$repeat);
  let assemblyFormat = "`<` $size `,` $tile `,` $repeat `>`";
}
def Tile_GridArrayAttr : TypedArrayAttrBase<Tile_GridAttr, "one grid attribute an axis">;

def Tile_VariantAttr : AttrDef<Tile_Dialect, "Variant"> {
  let mnemonic = "variant";
  let summary = "Another kernel for what a launch makes, with a grid of its own and the sizes that it takes";
  let parameters = (ins "FlatSymbolRefAttr":$kernel, "ArrayAttr":$grid, "ArrayAttr":$sizes);
  let assemblyFormat = "`<` $kernel `grid` $grid `sizes` $sizes `>`";
}
def Tile_VariantArrayAttr : TypedArrayAttrBase<Tile_VariantAttr, "variants of a launch">;

#endif
