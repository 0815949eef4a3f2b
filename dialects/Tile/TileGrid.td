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

#endif
