// Lowers products on cooperative matrices to one lane. A piece of a tile is an !gpu.mma_matrix, a value that the lanes
// of a subgroup hold together. Few ops besides products work on it. It is loaded from shared memory and stored there.
#include "compiler/Lanes/Lanes.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// The places of a tile's pieces in shared memory. Each subgroup has a block of consecutive rows of left operands and
/// of sums.
struct Pieces {
  Pieces(LaneBuilder &b, RankedTensorType tile, Value row, Value column)
      : layout(tile::getCooperativeLayout(tile)), shape(tile::getLaneShape(tile)), firstRow(row), firstColumn(column) {
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

/// Lowers an op that has a tile of cooperative matrices among its operands or results.
template <typename Op> struct CooperativePattern : LanePattern<Op> {
  CooperativePattern(const TypeConverter &converter, MLIRContext *context, const Lanes &lanes)
      : LanePattern<Op>(converter, context, lanes, /*benefit=*/3) {}
};

struct LowerPieceConstant : CooperativePattern<arith::ConstantOp> {
  using CooperativePattern::CooperativePattern;
  LogicalResult matchAndRewrite(arith::ConstantOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!tile::getCooperativeLayout(op.getType()))
      return failure();
    LaneBuilder b(op.getLoc(), rewriter);
    auto tile = cast<RankedTensorType>(op.getType());
    auto value = cast<DenseElementsAttr>(op.getValue()).getSplatValue<TypedAttr>();
    Value piece =
        gpu::SubgroupMmaConstantMatrixOp::create(b, getRegisterType(tile), arith::ConstantOp::create(b, value));
    rewriter.replaceOpWithMultiple(op, {SmallVector<Value>(tile::getLaneShape(tile).count(), piece)});
    return success();
  }
};

struct LowerPieceLoad : CooperativePattern<tile::LoadOp> {
  using CooperativePattern::CooperativePattern;
  LogicalResult matchAndRewrite(tile::LoadOp op, OneToNOpAdaptor, ConversionPatternRewriter &rewriter) const override {
    if (!tile::getCooperativeLayout(op.getType()))
      return failure();
    LaneBuilder b(op.getLoc(), rewriter);
    Pieces pieces(b, op.getType(), op.getRow(), op.getColumn());
    // The right operand's tile has the matrix's columns as its rows.
    bool isRight = pieces.layout.getUse() == tile::MatrixUse::Right;
    UnitAttr transpose = op.getTransposed() != isRight ? b.getUnitAttr() : UnitAttr();
    SmallVector<Value> registers;
    for (int64_t i = 0; i < pieces.shape.rows; ++i)
      for (int64_t j = 0; j < pieces.shape.runs; ++j)
        registers.push_back(gpu::SubgroupMmaLoadMatrixOp::create(
            b, getRegisterType(op.getType()), op.getMemory(), pieces.place(b, i, j, op.getTransposed()),
            leadDimension(b, op.getMemory().getType()), transpose));
    rewriter.replaceOpWithMultiple(op, {registers});
    return success();
  }
};

struct LowerPieceStore : CooperativePattern<tile::StoreOp> {
  using CooperativePattern::CooperativePattern;
  LogicalResult matchAndRewrite(tile::StoreOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!tile::getCooperativeLayout(op.getValue().getType()))
      return failure();
    LaneBuilder b(op.getLoc(), rewriter);
    Registers registers(typeOf(op.getValue()), adaptor.getValue());
    Pieces pieces(b, typeOf(op.getValue()), op.getRow(), op.getColumn());
    for (int64_t i = 0; i < pieces.shape.rows; ++i)
      for (int64_t j = 0; j < pieces.shape.runs; ++j)
        gpu::SubgroupMmaStoreMatrixOp::create(b, registers.at(i, j), op.getMemory(),
                                              pieces.place(b, i, j, /*transposed=*/false),
                                              leadDimension(b, op.getMemory().getType()), UnitAttr());
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerPieceDot : CooperativePattern<tile::DotOp> {
  using CooperativePattern::CooperativePattern;
  LogicalResult matchAndRewrite(tile::DotOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!tile::getCooperativeLayout(op.getType()))
      return failure();
    LaneBuilder b(op.getLoc(), rewriter);
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
    rewriter.replaceOpWithMultiple(op, {sums});
    return success();
  }
};

struct LowerPieceTimes : CooperativePattern<arith::MulFOp> {
  using CooperativePattern::CooperativePattern;
  LogicalResult matchAndRewrite(arith::MulFOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!tile::getCooperativeLayout(op.getType()))
      return failure();
    LaneBuilder b(op.getLoc(), rewriter);
    SmallVector<Value> products;
    for (auto [x, y] : llvm::zip(adaptor.getLhs(), adaptor.getRhs()))
      products.push_back(
          gpu::SubgroupMmaElementwiseOp::create(b, x.getType(), ValueRange{x, y}, gpu::MMAElementwiseOp::MULF));
    rewriter.replaceOpWithMultiple(op, {products});
    return success();
  }
};

/// Repeats whole pieces.
struct LowerPieceBroadcast : CooperativePattern<tile::BroadcastOp> {
  using CooperativePattern::CooperativePattern;
  LogicalResult matchAndRewrite(tile::BroadcastOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!tile::getCooperativeLayout(op.getType()))
      return failure();
    Registers from(typeOf(op.getInput()), adaptor.getInput());
    tile::LaneShape shape = tile::getLaneShape(op.getType());
    SmallVector<Value> registers;
    for (int64_t i = 0; i < shape.rows; ++i)
      for (int64_t j = 0; j < shape.runs; ++j)
        registers.push_back(from.at(i, j % from.shape.runs));
    rewriter.replaceOpWithMultiple(op, {registers});
    return success();
  }
};

/// Without asynchronous copies, a wait only has to wait for the other lanes.
struct LowerBarrier : CooperativePattern<tile::WaitOp> {
  using CooperativePattern::CooperativePattern;
  LogicalResult matchAndRewrite(tile::WaitOp op, OneToNOpAdaptor, ConversionPatternRewriter &rewriter) const override {
    if (lanes.hasCopies())
      return failure();
    rewriter.replaceOpWithNewOp<gpu::BarrierOp>(op);
    return success();
  }
};

} // namespace

void heddle::populateLaneCooperativePatterns(const TypeConverter &converter, const Lanes &lanes,
                                             RewritePatternSet &patterns) {
  patterns.add<LowerPieceConstant, LowerPieceLoad, LowerPieceStore, LowerPieceDot, LowerPieceTimes, LowerPieceBroadcast,
               LowerBarrier>(converter, patterns.getContext(), lanes);
}
