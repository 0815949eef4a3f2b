#include "compiler/Lanes/KernelLayouts.h"

#include <numeric>

using namespace mlir;
using namespace mlir::heddle;
using namespace mlir::tile;

/// Returns true if any tile has several rows: subgroups then have rows of their own.
static bool hasRows(tile::FuncOp kernel) {
  auto isTall = [](Type type) {
    auto tile = dyn_cast<RankedTensorType>(type);
    return tile && tile.getDimSize(0) > 1;
  };
  auto find = [&](Operation *op) {
    return llvm::any_of(op->getResultTypes(), isTall) ? WalkResult::interrupt() : WalkResult::advance();
  };
  return kernel.walk(find).wasInterrupted();
}

LogicalResult KernelLayouts::checkSides(DotOp dot) const {
  auto check = [&](StringRef side, bool isTurned, std::optional<bool> turns) -> LogicalResult {
    if (isTurned == turns.value_or(isTurned))
      return success();
    return dot.emitError() << "the lanes of this kernel multiply a " << side << " side that is "
                           << (*turns ? "transposed" : "not transposed");
  };
  return success(succeeded(check("left", dot.getTransposeLhs(), turnsLeft)) &&
                 succeeded(check("right", dot.getTransposeRhs(), turnsRight)));
}

std::optional<KernelLayouts> KernelLayouts::of(tile::FuncOp kernel, const TargetProfile &profile) {
  MLIRContext *context = kernel.getContext();
  int64_t lanes = kernel.getWorkgroup(), vector = kernel.getVector();
  auto simt = [=](int64_t rowLanes, int64_t columnLanes, int64_t rowStride, int64_t columnStride, int64_t run) {
    return SimtAttr::get(context, rowLanes, columnLanes, rowStride, columnStride, run);
  };
  // `along` lanes stand along each row, the others below each other.
  auto standing = [=](int64_t along) { return simt(lanes / along, along, along == lanes ? 1 : along, 1, vector); };
  auto always = [](Attribute sum, Attribute left, Attribute right) {
    return [=](DotOp) { return ProductLayouts{sum, left, right}; };
  };
  Attribute whole = simt(1, 1, 1, 1, vector);
  auto subgroup = lanes > profile.lanes ? std::optional(profile.lanes) : std::nullopt;
  int64_t along = hasRows(kernel) ? std::min(lanes, profile.lanes) : lanes;

  LaneMapping mapping = kernel.getMapping();
  if (mapping == LaneMapping::Tensor && profile.tensor.matrix.rows == 0)
    return std::nullopt;
  // A thread of a CPU has all of both sides. It repeats elements of the left side as it loads them.
  if (profile.registers > 0) {
    Attribute numbers = simt(1, 1, 1, 1, 1);
    auto ofProduct = [=](DotOp dot) {
      int64_t columns = cast<RankedTensorType>(dot.getLhs().getType()).getDimSize(1);
      bool isByNumber = dot.getLhs().getDefiningOp<LoadOp>() || columns % vector != 0;
      return ProductLayouts{whole, isByNumber ? numbers : whole, whole};
    };
    return KernelLayouts{.ofProduct = ofProduct, .others = whole};
  }
  switch (mapping) {
  // Lanes share one side, and each has the whole of the other side.
  case LaneMapping::Rows: {
    Attribute rows = standing(1);
    return KernelLayouts{
        .ofProduct = always(rows, rows, whole), .turnsLeft = false, .others = rows, .subgroup = subgroup};
  }
  case LaneMapping::Columns:
  case LaneMapping::Quads: {
    Attribute columns = standing(mapping == LaneMapping::Quads ? *kernel.getRowLanes() : along);
    return KernelLayouts{
        .ofProduct = always(columns, whole, columns), .turnsRight = false, .others = columns, .subgroup = subgroup};
  }
  // A lane has the same rows of the result and of the left side, and the same columns of the result and of the right
  // side. Rows of a transposed right side are distributed one by one.
  case LaneMapping::Blocks: {
    int64_t rowLanes = profile.blocks.rowLanes, down = lanes / rowLanes, widest = profile.vector;
    auto ofProduct = [=](DotOp dot) {
      bool isLeftTurned = dot.getTransposeLhs(), isRightTurned = dot.getTransposeRhs();
      // Along the contracted dimension registers are as wide as possible, whatever their width is in the result.
      int64_t run = std::gcd(widest, cast<RankedTensorType>(dot.getLhs().getType()).getDimSize(isLeftTurned ? 0 : 1));
      return ProductLayouts{simt(down, rowLanes, rowLanes, 1, isRightTurned ? 1 : vector),
                            isLeftTurned ? simt(1, down, 1, rowLanes, 1) : simt(down, 1, rowLanes, 1, run),
                            isRightTurned ? simt(rowLanes, 1, 1, 1, run) : simt(1, rowLanes, 1, 1, vector)};
    };
    return KernelLayouts{.ofProduct = ofProduct,
                         .others = standing(rowLanes),
                         .subgroup = rowLanes,
                         .throughMemory = true,
                         .hasFreeColumns = true};
  }
  case LaneMapping::Tensor:
    break;
  }
  if (profile.tensor.cooperative) {
    auto matrix = [&](MatrixUse use) {
      return CooperativeAttr::get(context, use, profile.tensor.matrix.rows, lanes / profile.lanes);
    };
    return KernelLayouts{.ofProduct = always(matrix(MatrixUse::Sum), matrix(MatrixUse::Left), matrix(MatrixUse::Right)),
                         .turnsLeft = false,
                         .turnsRight = true,
                         .others = standing(along),
                         .subgroup = profile.lanes,
                         .hasMatrices = true,
                         .throughMemory = true};
  }
  // Only warpgroups need 16 neighbouring rows a subgroup. The addresses of such rows cost registers, and attention with
  // mma.sync has none to spare.
  auto fragment = [&](int64_t subgroups, int64_t pieces) {
    return FragmentAttr::get(context, subgroups, pieces * FragmentAttr::kPiece);
  };
  constexpr int64_t lanesOfSubgroup = FragmentAttr::kLanes, lanesOfRow = lanesOfSubgroup / FragmentAttr::kPiece;
  // A group of four f32 has 16 bytes, and a row of a panel has eight groups.
  constexpr int64_t run = 4, groups = 8;
  Attribute shared = fragment(lanes / lanesOfSubgroup, contains<WarpgroupDotOp>(kernel) ? 2 : 1);
  return KernelLayouts{.ofProduct = always(shared, shared, fragment(/*subgroups=*/1, /*pieces=*/1)),
                       .turnsLeft = false,
                       .turnsRight = true,
                       .others = shared,
                       .ofSubgroups = simt(lanes / lanesOfSubgroup, lanesOfRow, lanesOfSubgroup, 1, /*run=*/2),
                       .toPanels = simt(lanes / groups, groups, groups, 1, run),
                       .turnedToPanels = simt(lanes / groups, groups, 1, lanes / groups, run),
                       .subgroup = subgroup};
}
