// Lane mappings and layouts.
#ifndef TILE_ATTRIBUTES_TD
#define TILE_ATTRIBUTES_TD

include "dialects/Tile/TileDialect.td"
include "dialects/Tile/TileInterfaces.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
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

class Tile_Distributed<string name> : AttrDef<Tile_Dialect, name, [DeclareAttrInterfaceMethods<Tile_DistributedLayout>,
                                                                   DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let genVerifyDecl = 1;
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                                    function_ref<InFlightDiagnostic()> emitError) const {
      return verifyShape(*this, shape, emitError);
    }
  }];
}

def Tile_SimtAttr : Tile_Distributed<"Simt"> {
  let mnemonic = "simt";
  let summary = "Elements distributed over lanes in turn along each dimension";
  let description = [{
    `lanes[d]` lanes stand along dimension d; the coordinate of a lane there is (lane / strides[d]) mod lanes[d]. A run
    of `vector` neighbouring columns is held in one register. Runs and rows are distributed over the lanes in turn: lane
    (a, b) holds rows a, a + lanes[0], ... and runs b, b + lanes[1], ... If lanes[d] is 1, or the tile has one element
    along d, every lane holds all of it. This covers the operands of matmuls (all of the contracted dimension in each
    lane), a row vector that is repeated, and the result of a reduction.
  }];
  let parameters = (ins "int64_t":$rowLanes, "int64_t":$columnLanes, "int64_t":$rowStride, "int64_t":$columnStride,
                        "int64_t":$vector);
  let assemblyFormat = "`<` `lanes` `=` `[` $rowLanes `,` $columnLanes `]` `,` `strides` `=` `[` $rowStride `,` $columnStride `]` `,` `vector` `=` $vector `>`";
}

def Tile_FragmentAttr : Tile_Distributed<"Fragment"> {
  let mnemonic = "fragment";
  let summary = "Elements distributed as a tensor-core instruction (mma or wgmma) takes them";
  let description = [{
    The instruction works on pieces of 8 x 8 elements. Lane l of a subgroup of 32 lanes holds two neighbouring elements
    of row l / 4 of each piece. The `subgroups` share the rows of a left operand or a sum: each takes `rows` neighbouring
    rows in turn, 8 or, as wgmma requires, 16. A right operand is given transposed (a row of the tile for each column of
    the result) and is whole in each subgroup, as if there were only one.
  }];
  let parameters = (ins "int64_t":$subgroups, "int64_t":$rows);
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    /// The lanes of a subgroup, and the rows and columns of a piece.
    static constexpr int64_t kLanes = 32, kPiece = Distribution::kPiece;
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

def Tile_SwizzledAttr : AttrDef<Tile_Dialect, "Swizzled", [
    DeclareAttrInterfaceMethods<MemRefLayoutAttrInterface, ["isIdentity", "verifyLayout"]>]> {
  let mnemonic = "swizzled";
  let summary = "The layout of shared memory in which neighbouring rows of a column lie in different banks";
  let description = [{
    Eight neighbouring elements of a row stay together. In a row of 64 elements (128 bytes, all banks once) these groups
    are XOR-swizzled: group g of row r is at place g xor (r mod 8). Shorter rows that fill the banks together are
    swizzled alike. In a longer row each 64 elements are swizzled by themselves.

    With `panel_rows` rows are cut into panels of 64 columns, as wgmma reads them: in a tile of that many rows, each
    further 64 columns follow after all rows of the 64 before, and tiles follow each other.

    Only `tile.copy`, `tile.load` and `tile.warpgroup_dot` know this order, which no affine map describes. In a lane's
    program memory is in plain order, and the lane computes the places itself.
  }];
  let parameters = (ins DefaultValuedParameter<"int64_t", "0">:$panelRows);
  let assemblyFormat = "(`<` `panel_rows` `=` $panelRows^ `>`)?";
  let extraClassDeclaration = [{
    /// Columns of a 16-bit operand that tensor cores read as one row: 128 bytes, all banks once.
    static constexpr int64_t kPanelColumns = 64;
    /// The bytes of eight such rows, after which the swizzle repeats.
    static constexpr int64_t kBytes = 8 * 2 * kPanelColumns;
  }];
}

#endif
