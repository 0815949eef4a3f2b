// Lane mappings and layouts.
#ifndef TILE_ATTRIBUTES_TD
#define TILE_ATTRIBUTES_TD

include "dialects/Tile/TileDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/TensorEncoding.td"

class Tile_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::mlir::tile";
  let genSpecializedAttr = 0;
}

def Tile_LaneMapping : Tile_Enum<"LaneMapping", "how the lanes of a workgroup stand over a tile", [
    I32EnumAttrCase<"Rows", 0, "rows">, I32EnumAttrCase<"Columns", 1, "columns">, I32EnumAttrCase<"Quads", 2, "quads">,
    I32EnumAttrCase<"Blocks", 3, "blocks">, I32EnumAttrCase<"Tensor", 4, "tensor">]>;
def Tile_LaneMappingAttr : EnumAttr<Tile_Dialect, Tile_LaneMapping, "mapping"> {
  let assemblyFormat = "`<` $value `>`";
}

def Tile_MatrixUse : Tile_Enum<"MatrixUse", "what a matrix is in a product", [
    I32EnumAttrCase<"Left", 0, "left">, I32EnumAttrCase<"Right", 1, "right">, I32EnumAttrCase<"Sum", 2, "sum">]>;

def Tile_SimtAttr : AttrDef<Tile_Dialect, "Simt", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = "simt";
  let summary = "Elements distributed over lanes in turn along each dimension";
  let description = [{
    `lanes[d]` lanes stand along dimension d; the coordinate of a lane there is (lane / strides[d]) mod lanes[d]. A run
    of `vector` neighbouring columns is held in one register. Runs and rows are distributed over the lanes in turn: lane
    (a, b) holds rows a, a + lanes[0], ... and runs b, b + lanes[1], ... If lanes[d] is 1, or the tile has one element
    along d, every lane holds all of it. This covers the operands of matmuls (all of the contracted dimension in each
    lane), a row vector that is repeated, and the result of a reduction.

    With `paired`, rows are distributed in pieces of eight, and each group of eight lanes has two neighbouring pieces:
    lane (a, b) holds row 16 (a / 8) + a mod 8 and the row 8 further on, and the same again after every 2 lanes[0] rows.
  }];
  let parameters = (ins "int64_t":$rowLanes, "int64_t":$columnLanes, "int64_t":$rowStride, "int64_t":$columnStride,
                        "int64_t":$vector, OptionalParameter<"bool">:$paired);
  let assemblyFormat = "`<` `lanes` `=` `[` $rowLanes `,` $columnLanes `]` `,` `strides` `=` `[` $rowStride `,` $columnStride `]` `,` `vector` `=` $vector (`,` `paired` `=` $paired^)? `>`";
  let builders = [AttrBuilder<(ins "int64_t":$rowLanes, "int64_t":$columnLanes, "int64_t":$rowStride, "int64_t":$columnStride,
                                   "int64_t":$vector), [{
    return $_get($_ctxt, rowLanes, columnLanes, rowStride, columnStride, vector, /*paired=*/false);
  }]>];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The lanes of a tensor core instruction, and the rows and columns of a piece of its operands.
    static constexpr int64_t kFragmentLanes = 32, kFragmentPiece = 8;
    /// Returns the layout of an operand or a sum of tensor cores: four lanes along a row, two neighbouring columns
    /// each. Further subgroups of 32 lanes take further rows. If `paired`, each has 16 neighbouring rows, as warpgroups
    /// require.
    static SimtAttr getFragment(MLIRContext *context, int64_t lanes, bool paired = false) {
      return get(context, lanes / 4, 4, 4, 1, 2, paired);
    }
    bool isFragment() const {
      return getRowLanes() % kFragmentPiece == 0 && getColumnLanes() == 4 && getRowStride() == 4 && getColumnStride() == 1 &&
             getVector() == 2;
    }
  }];
}

def Tile_CooperativeAttr : AttrDef<Tile_Dialect, "Cooperative", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = "cooperative";
  let summary = "Square pieces that the lanes of a subgroup hold together, in a way that only the device knows";
  let description = [{
    The tile is cut into pieces of `side` x `side` elements, each of which is one cooperative matrix
    (VK_KHR_cooperative_matrix). `use` is the tile's role in a matmul. The `subgroups` of the workgroup share the rows
    of a left operand or a sum: each has the same number of neighbouring rows. A right operand is given transposed (a
    row of the tile for each column of the result) and is whole in each subgroup. Nobody knows which lane has which
    element of a piece, so elements are accessed through memory.
  }];
  let parameters = (ins EnumParameter<Tile_MatrixUse>:$use, "int64_t":$side, "int64_t":$subgroups);
  let assemblyFormat = "`<` $use `,` `side` `=` $side `,` `subgroups` `=` $subgroups `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The number of subgroups that share the rows.
    int64_t getRowShares() const { return getUse() == MatrixUse::Right ? 1 : getSubgroups(); }
  }];
}

#endif
