// Lowers matmuls on cooperative matrices to one lane. A piece of a tile is an !gpu.mma_matrix, a value that the lanes
// of a subgroup hold together. Few ops besides matmuls work on it. It is loaded from shared memory and stored there.
#include "compiler/Lanes/Lanes.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

/// The places of a tile's pieces in shared memory. Each subgroup has a block of consecutive rows of left operands and
/// of sums.
struct Pieces {
  Pieces(LaneBuilder &b, RankedTensorType tile, Value row, Value column)
      : layout(tile::getLayout<tile::CooperativeAttr>(tile)), shape(tile::getLaneShape(tile)), firstRow(row),
        firstColumn(column) {
    if (layout.getRowShares() > 1) {
      Value subgroup = gpu::SubgroupIdOp::create(b, b.getIndexType(), /*upper_bound=*/IntegerAttr());
      ownRow = b.scaled(subgroup, shape.rows * layout.getSide());
    }
  }

  /// The row and column of piece (i, j) in memory. With `transposed` the tile lies there transposed.
  SmallVector<Value> place(LaneBuilder &b, int64_t i, int64_t j, bool transposed) const {
    Value inTile = b.index(i * layout.getSide());
    if (ownRow)
      inTile = b.createOrFold<arith::AddIOp>(ownRow, inTile);
    Value across = transposed ? firstColumn : firstRow, along = transposed ? firstRow : firstColumn;
    across = b.createOrFold<arith::AddIOp>(across, inTile);
    along = b.add(along, j * layout.getSide());
    return transposed ? SmallVector<Value>{along, across} : SmallVector<Value>{across, along};
  }

  tile::CooperativeAttr layout;
  tile::LaneShape shape;
  Value firstRow, firstColumn, ownRow;
};

IntegerAttr leadDimension(LaneBuilder &b, MemRefType memory) { return b.getIndexAttr(tile::getRowStride(memory)); }

Lowered lowerPieceConstant(LaneBuilder &b, const Lanes &, arith::ConstantOp op, RegistersOf<arith::ConstantOp>) {
  auto tile = cast<RankedTensorType>(op.getType());
  auto value = cast<DenseElementsAttr>(op.getValue()).getSplatValue<TypedAttr>();
  Value piece = gpu::SubgroupMmaConstantMatrixOp::create(b, getRegisterType(tile), arith::ConstantOp::create(b, value));
  return SmallVector<Value>(tile::getLaneShape(tile).count(), piece);
}

Lowered lowerPieceLoad(LaneBuilder &b, const Lanes &, tile::LoadOp op, RegistersOf<tile::LoadOp>) {
  Pieces pieces(b, op.getType(), op.getRow(), op.getColumn());
  // The right operand's tile has the matrix's columns as its rows.
  bool isRight = pieces.layout.getUse() == tile::MatrixUse::Right;
  UnitAttr transpose = op.getTransposed() != isRight ? b.getUnitAttr() : UnitAttr();
  SmallVector<Value> registers;
  for (int64_t i = 0; i < pieces.shape.rows; ++i)
    for (int64_t j = 0; j < pieces.shape.runs; ++j)
      registers.push_back(gpu::SubgroupMmaLoadMatrixOp::create(b, getRegisterType(op.getType()), op.getMemory(),
                                                               pieces.place(b, i, j, op.getTransposed()),
                                                               leadDimension(b, op.getMemory().getType()), transpose));
  return registers;
}

Lowered lowerPieceStore(LaneBuilder &b, const Lanes &, tile::StoreOp op, RegistersOf<tile::StoreOp> adaptor) {
  Registers registers(typeOf(op.getValue()), adaptor.getValue());
  Pieces pieces(b, typeOf(op.getValue()), op.getRow(), op.getColumn());
  for (int64_t i = 0; i < pieces.shape.rows; ++i)
    for (int64_t j = 0; j < pieces.shape.runs; ++j)
      gpu::SubgroupMmaStoreMatrixOp::create(b, registers.at(i, j), op.getMemory(),
                                            pieces.place(b, i, j, /*transposed=*/false),
                                            leadDimension(b, op.getMemory().getType()), UnitAttr());
  return SmallVector<Value>();
}

Lowered lowerPieceDot(LaneBuilder &b, const Lanes &, tile::DotOp op, RegistersOf<tile::DotOp> adaptor) {
  Registers lhs(typeOf(op.getLhs()), adaptor.getLhs()), rhs(typeOf(op.getRhs()), adaptor.getRhs());
  tile::LaneShape shape = tile::getLaneShape(op.getType());
  SmallVector<Value> sums(adaptor.getAccumulator());
  for (int64_t k = 0; k < lhs.shape.runs; ++k)
    for (int64_t i = 0; i < shape.rows; ++i)
      for (int64_t j = 0; j < shape.runs; ++j) {
        Value &sum = sums[i * shape.runs + j];
        sum = gpu::SubgroupMmaComputeOp::create(b, sum.getType(), lhs.at(i, k), rhs.at(j, k), sum, UnitAttr(),
                                                UnitAttr());
      }
  return sums;
}

Lowered lowerPieceTimes(LaneBuilder &b, const Lanes &, arith::MulFOp op, RegistersOf<arith::MulFOp> adaptor) {
  SmallVector<Value> products;
  for (auto [x, y] : llvm::zip(adaptor.getLhs(), adaptor.getRhs()))
    products.push_back(
        gpu::SubgroupMmaElementwiseOp::create(b, x.getType(), ValueRange{x, y}, gpu::MMAElementwiseOp::MULF));
  return products;
}

/// Repeats whole pieces.
Lowered lowerPieceBroadcast(LaneBuilder &b, const Lanes &, tile::BroadcastOp op,
                            RegistersOf<tile::BroadcastOp> adaptor) {
  Registers from(typeOf(op.getInput()), adaptor.getInput());
  tile::LaneShape shape = tile::getLaneShape(op.getType());
  SmallVector<Value> registers;
  for (int64_t i = 0; i < shape.rows; ++i)
    for (int64_t j = 0; j < shape.runs; ++j)
      registers.push_back(from.at(i, j % from.shape.runs));
  return registers;
}

} // namespace

void heddle::populateLaneCooperativePatterns(const TypeConverter &converter, const Lanes &lanes,
                                             RewritePatternSet &patterns) {
  addLowerings<tile::CooperativeAttr>(patterns, converter, lanes, /*benefit=*/3, lowerPieceConstant, lowerPieceLoad,
                                      lowerPieceStore, lowerPieceDot, lowerPieceTimes, lowerPieceBroadcast);
}
