// Reports what heddle-lower-to-lanes cannot lower, before it starts.
#include "compiler/Lanes/Lanes.h"

#include "compiler/Analysis/Kernels/Fragments.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Returns true if both dimensions are distributed alike: a lane's k-th element has the same index along both.
bool agree(RankedTensorType a, int dimA, RankedTensorType b, int dimB) {
  return a.getDimSize(dimA) == b.getDimSize(dimB) && tile::getDistribution(a, dimA) == tile::getDistribution(b, dimB);
}

constexpr int64_t kPiece = tile::FragmentAttr::kPiece;

LogicalResult checkFragments(tile::DotOp op, RankedTensorType lhs, RankedTensorType rhs, RankedTensorType result) {
  auto left = dyn_cast<tile::FragmentAttr>(lhs.getEncoding()), right = dyn_cast<tile::FragmentAttr>(rhs.getEncoding());
  if (op.getTransposeLhs() || !op.getTransposeRhs() || !left || !right || left != result.getEncoding() ||
      right.getSubgroups() != 1)
    return op.emitOpError()
           << "multiplies operands that are distributed as fragments, the right operand transposed and whole "
           << "in each subgroup, got " << lhs << " and " << rhs;
  if (tile::getLaneShape(lhs).rows % 2 != 0 || lhs.getDimSize(1) % (2 * kPiece) != 0)
    return op.emitOpError() << "takes " << 2 * kPiece << " rows a subgroup and a depth of " << 2 * kPiece
                            << " at a time, which do not divide " << lhs;
  return success();
}

LogicalResult checkDot(tile::DotOp op) {
  RankedTensorType lhs = typeOf(op.getLhs()), rhs = typeOf(op.getRhs()), result = op.getType();
  int lhsRow = op.getTransposeLhs() ? 1 : 0, rhsColumn = op.getTransposeRhs() ? 0 : 1;
  if (isTensorOperand(lhs) || hasLayout<tile::FragmentAttr>(op))
    return checkFragments(op, lhs, rhs, result);
  if (tile::getDistribution(lhs, 1 - lhsRow).lanes != 1 || tile::getDistribution(rhs, 1 - rhsColumn).lanes != 1)
    return op.emitOpError() << "needs all of the contracted dimension in each lane, got " << lhs << " and " << rhs;
  if (!agree(lhs, lhsRow, result, 0))
    return op.emitOpError() << "cannot distribute the rows of " << result << " as " << lhs << " has them";
  if (!agree(rhs, rhsColumn, result, 1) ||
      (!op.getTransposeRhs() && tile::getLaneShape(rhs).vector != tile::getLaneShape(result).vector))
    return op.emitOpError() << "cannot distribute the columns of " << result << " as " << rhs << " has them";
  return success();
}

LogicalResult checkReduce(tile::ReduceOp op, int64_t subgroup) {
  RankedTensorType input = typeOf(op.getInput()), result = op.getType();
  int kept = 1 - static_cast<int>(op.getDim());
  if (!agree(input, kept, result, kept) ||
      (kept == 1 && tile::getLaneShape(input).vector != tile::getLaneShape(result).vector))
    return op.emitOpError() << "keeps a dimension, which " << input << " and " << result << " distribute differently";
  tile::Distribution reduced = tile::getDistribution(input, static_cast<int>(op.getDim()));
  if (!llvm::isPowerOf2_64(reduced.lanes) || !llvm::isPowerOf2_64(reduced.stride) ||
      (reduced.lanes * reduced.stride > subgroup && !isOfWorkgroup(op, reduced)))
    return op.emitOpError() << "combines across lanes, whose number and stride must be powers of two within the "
                            << "subgroup of " << subgroup << ", got " << input;
  return success();
}

LogicalResult checkBroadcast(tile::BroadcastOp op) {
  RankedTensorType input = typeOf(op.getInput()), result = op.getType();
  for (int dim : {0, 1})
    if (input.getDimSize(dim) != 1 && !agree(input, dim, result, dim))
      return op.emitOpError() << "keeps dimension " << dim << ", which " << input << " and " << result
                              << " distribute differently";
  if (input.getDimSize(1) != 1 && tile::getLaneShape(input).vector != tile::getLaneShape(result).vector)
    return op.emitOpError() << "cannot change the registers of " << input << " into those of " << result;
  return success();
}

LogicalResult checkColumns(tile::ColumnsOp op) {
  RankedTensorType input = typeOf(op.getInput());
  int64_t unit = columnsOfRun(input);
  if (input.getEncoding() == op.getType().getEncoding() && static_cast<int64_t>(op.getFrom()) % unit == 0 &&
      op.getType().getDimSize(1) % unit == 0)
    return success();
  return op.emitOpError() << "takes whole registers of every lane, " << unit << " columns each, got " << op.getType()
                          << " from column " << op.getFrom() << " of " << input;
}

LogicalResult checkSwap(tile::SwapOp op) {
  if (tile::getLaneShape(op.getType()).vector % 2 == 0)
    return success();
  return op.emitOpError() << "exchanges columns within a lane's registers, which hold no pairs in " << op.getType();
}

LogicalResult checkConversion(tile::ConvertLayoutOp op) {
  if (keepsElements(typeOf(op.getInput()), op.getType()))
    return success();
  return op.emitOpError() << "gives lanes other elements than they have; run heddle-lower-conversions first";
}

/// Checks that a lane that holds a column of the tile also holds the row number for that column.
LogicalResult checkColumnRows(tile::GatherOp op) {
  RankedTensorType rows = typeOf(op.getRows());
  if (agree(rows, 1, op.getType(), 1) && tile::getLaneShape(rows).vector == tile::getLaneShape(op.getType()).vector)
    return success();
  return op.emitOpError() << "cannot distribute the columns of " << op.getType() << " as " << rows << " has them";
}

/// Checks that a lane that holds a row of the tile also holds that row's number.
LogicalResult checkRows(Operation *op, Value tile, Value rows) {
  if (agree(typeOf(rows), 0, typeOf(tile), 0))
    return success();
  return op->emitOpError() << "cannot distribute the rows of " << tile.getType() << " as " << rows.getType()
                           << " has them";
}

LogicalResult checkLoad(tile::LoadOp op) {
  if (tile::getSwizzle(op.getMemory().getType()) && !isa<tile::FragmentAttr>(op.getType().getEncoding()))
    return op.emitOpError() << "reads swizzled memory, as only fragments can, got " << op.getType();
  if (!op.getInPlace() || op->getParentOfType<tile::FuncOp>().getWorkgroup() == 1)
    return success();
  return op.emitOpError("keeps packed integers in their place only in workgroups of one lane");
}

LogicalResult checkRandom(tile::RandomOp op) {
  if (op.getStreams() && op.getStreams().getType() != op.getRows().getType())
    return op.emitOpError() << "has streams of type " << op.getStreams().getType() << ", and rows of type "
                            << op.getRows().getType();
  if (tile::getLayout(op.getType()) == tile::getLayout(op.getRows().getType()))
    return success();
  return op.emitOpError() << "cannot distribute " << op.getType() << " otherwise than its places, "
                          << op.getRows().getType();
}

LogicalResult checkLookup(tile::LookupOp op) {
  if (tile::getLayout(op.getType()) == tile::getLayout(op.getNumbers().getType()))
    return success();
  return op.emitOpError() << "cannot distribute " << op.getType() << " otherwise than its numbers, "
                          << op.getNumbers().getType();
}

LogicalResult checkConstant(arith::ConstantOp op) {
  auto tile = dyn_cast<RankedTensorType>(op.getType());
  auto isWhole = [&](int dim) { return tile::getDistribution(tile, dim).lanes == 1; };
  if (!tile || isa<SplatElementsAttr>(op.getValue()) || (tile::getLayout(tile) && isWhole(0) && isWhole(1)))
    return success();
  return op.emitOpError() << "is a tile whose elements differ; a lane knows only constants that all lanes share";
}

LogicalResult checkCooperativeDot(tile::DotOp op) {
  using tile::CooperativeAttr;
  CooperativeAttr sum = tile::getCooperativeLayout(op.getType());
  auto has = [&](Value value, tile::MatrixUse use) {
    return sum && tile::getCooperativeLayout(value.getType()) ==
                      CooperativeAttr::get(op.getContext(), use, sum.getSide(), sum.getSubgroups());
  };
  if (!op.getTransposeLhs() && op.getTransposeRhs() && has(op.getResult(), tile::MatrixUse::Sum) &&
      has(op.getLhs(), tile::MatrixUse::Left) && has(op.getRhs(), tile::MatrixUse::Right))
    return success();
  return op.emitOpError() << "multiplies a left and a right tile of cooperative matrices to a sum, the right one "
                          << "transposed, got " << op.getLhs().getType() << " and " << op.getRhs().getType();
}

LogicalResult checkCooperativeBroadcast(tile::BroadcastOp op) {
  RankedTensorType input = typeOf(op.getInput());
  if (input.getEncoding() == op.getType().getEncoding() && input.getDimSize(0) == op.getType().getDimSize(0))
    return success();
  return op.emitOpError() << "repeats columns of cooperative matrices, got " << input << " and " << op.getType();
}

/// The place of an element in a cooperative matrix is unknown. Only ops that do not depend on it are allowed, such as
/// matmuls, the elementwise product of two accumulators, and loads and stores of whole tiles in shared memory.
LogicalResult checkCooperative(Operation *op) {
  auto isShared = [](Value memory) {
    return gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(cast<MemRefType>(memory.getType()));
  };
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([](tile::DotOp op) { return checkCooperativeDot(op); })
      .Case([](tile::BroadcastOp op) { return checkCooperativeBroadcast(op); })
      .Case([](tile::ColumnsOp op) { return checkColumns(op); })
      .Case([](arith::ConstantOp op) { return checkConstant(op); })
      .Case<arith::MulFOp, scf::ForOp, scf::YieldOp>([](Operation *) { return success(); })
      .Case<tile::LoadOp, tile::StoreOp>([&](auto op) -> LogicalResult {
        if (isShared(op.getMemory()) && !op.getRowLimit() && !op.getColumnLimit())
          return success();
        return op.emitOpError(
            "moves cooperative matrices, which is possible from and to shared memory, without limits");
      })
      .Default([](Operation *op) { return op->emitOpError("does not work on cooperative matrices"); });
}

} // namespace

LogicalResult heddle::checkLayouts(tile::FuncOp kernel) {
  int64_t subgroup = exchangingLanes(kernel);
  WalkResult result = kernel.getBody().walk([&](Operation *op) -> WalkResult {
    for (Type type : op->getResultTypes())
      if (!tile::haveLayouts(type))
        return op->emitOpError() << "has no layout for " << type << "; run heddle-assign-layouts first";
    if (auto conversion = dyn_cast<tile::ConvertLayoutOp>(op))
      return checkConversion(conversion);
    if (hasLayout<tile::CooperativeAttr>(op))
      return checkCooperative(op);
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case([](tile::DotOp op) { return checkDot(op); })
        .Case([&](tile::ReduceOp op) { return checkReduce(op, subgroup); })
        .Case([](tile::BroadcastOp op) { return checkBroadcast(op); })
        .Case([](tile::ColumnsOp op) { return checkColumns(op); })
        .Case([](tile::SwapOp op) { return checkSwap(op); })
        .Case([](tile::GatherOp op) {
          return op.getTransposed() ? checkColumnRows(op) : checkRows(op, op.getResult(), op.getRows());
        })
        .Case([](tile::LoadOp op) { return checkLoad(op); })
        .Case([](tile::StoreOp op) { return op.getTo() ? checkRows(op, op.getValue(), op.getTo()) : success(); })
        .Case([](arith::ConstantOp op) { return checkConstant(op); })
        .Case([](tile::RandomOp op) { return checkRandom(op); })
        .Case([](tile::LookupOp op) { return checkLookup(op); })
        .Default([](Operation *) { return success(); });
  });
  return failure(result.wasInterrupted());
}
