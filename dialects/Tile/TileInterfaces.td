// The interface of all layouts that distribute a tile over lanes.
#ifndef TILE_INTERFACES_TD
#define TILE_INTERFACES_TD

include "mlir/IR/OpBase.td"

def Tile_DistributedLayout : AttrInterface<"DistributedLayout"> {
  let cppNamespace = "::mlir::tile";
  let description = [{ A layout that says which lane holds which elements of a tile, one dimension at a time. }];
  let methods = [InterfaceMethod<"How rows (dimension 0) or columns (1) are distributed, if there is more than one",
                                 "::mlir::tile::Distribution", "distribute", (ins "int64_t":$dim)>];
}

#endif
