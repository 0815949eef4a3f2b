// Reports what heddle-lower-to-lanes cannot lower, before it starts.
#include "compiler/Lanes/Lanes.h"
#include "compiler/Lanes/SeparateMatrices.h"

#include "compiler/Analysis/Kernels/Fragments.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

/// Returns true if both dimensions are distributed alike: a lane's k-th element has the same index along both.
bool agree(RankedTensorType a, int dimA, RankedTensorType b, int dimB) {
  return a.getDimSize(dimA) == b.getDimSize(dimB) && tile::getDistribution(a, dimA) == tile::getDistribution(b, dimB);
}

constexpr int64_t kPiece = tile::FragmentAttr::kPiece;

bool haveSameVectors(RankedTensorType a, RankedTensorType b) {
  return tile::getLaneShape(a).vector == tile::getLaneShape(b).vector;
}

/// Checks that each lane with a row (or column) of `whole` has the same row of `part`. With `inVectors`, both must have
/// registers of the same width.
LogicalResult checkDistribution(Operation *op, RankedTensorType whole, int dim, Value part, int dimOfPart,
                                bool inVectors = false) {
  if (agree(typeOf(part), dimOfPart, whole, dim) && (!inVectors || haveSameVectors(typeOf(part), whole)))
    return success();
  return op->emitOpError() << "cannot distribute the " << (dim == 0 ? "rows" : "columns") << " of " << whole << " as "
                           << part.getType() << " has them";
}

LogicalResult checkSameLayout(Operation *op, Type type, Value other, StringRef what) {
  if (tile::getLayout(type) == tile::getLayout(other.getType()))
    return success();
  return op->emitOpError() << "cannot distribute " << type << " otherwise than its " << what << ", " << other.getType();
}

LogicalResult checkFragments(tile::DotOp op, RankedTensorType lhs, RankedTensorType rhs, RankedTensorType result) {
  auto left = tile::getLayout<tile::FragmentAttr>(lhs), right = tile::getLayout<tile::FragmentAttr>(rhs);
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
  bool isOfThread = op->getParentOfType<tile::FuncOp>().getWorkgroup() == 1;
  if (lhs.getElementType().isInteger() && (!isOfThread || op.getTransposeRhs() || tile::getLaneShape(rhs).vector == 1))
    return op.emitOpError(
        "multiplies integers only in vectors of a workgroup of one lane, the right operand not transposed");
  if (tile::getDistribution(lhs, 1 - lhsRow).lanes != 1 || tile::getDistribution(rhs, 1 - rhsColumn).lanes != 1)
    return op.emitOpError() << "needs all of the contracted dimension in each lane, got " << lhs << " and " << rhs;
  return success(succeeded(checkDistribution(op, result, 0, op.getLhs(), lhsRow)) &&
                 succeeded(checkDistribution(op, result, 1, op.getRhs(), rhsColumn, !op.getTransposeRhs())));
}

LogicalResult checkReduce(tile::ReduceOp op, int64_t subgroup) {
  RankedTensorType input = typeOf(op.getInput()), result = op.getType();
  int kept = 1 - static_cast<int>(op.getDim());
  if (!agree(input, kept, result, kept) || (kept == 1 && !haveSameVectors(input, result)))
    return op.emitOpError() << "keeps a dimension, which " << input << " and " << result << " distribute differently";
  tile::Distribution reduced = tile::getDistribution(input, static_cast<int>(op.getDim()));
  if (isOfSubgroups(op)) {
    tile::Distribution left = tile::getDistribution(result, 0);
    bool hasOwnRow = left.stride == subgroup && left.lanes == result.getDimSize(0) &&
                     reduced.lanes * reduced.stride == left.lanes * left.stride;
    if (hasOwnRow && tile::getLayout<tile::FragmentAttr>(input))
      return success();
    return op.emitOpError() << "leaves a row for each subgroup of " << subgroup << " lanes, which have fragments, got "
                            << input << " and " << result;
  }
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
  if (input.getDimSize(1) != 1 && !haveSameVectors(input, result))
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

LogicalResult checkLoad(tile::LoadOp op) {
  if (tile::getSwizzle(op.getMemory().getType()) && !hasLayout<tile::FragmentAttr>(op))
    return op.emitOpError() << "reads swizzled memory, as only fragments can, got " << op.getType();
  if (!op.getInPlace() || op->getParentOfType<tile::FuncOp>().getWorkgroup() == 1)
    return success();
  return op.emitOpError("keeps packed integers in their place only in workgroups of one lane");
}

LogicalResult checkDigits(tile::StoreDigitsOp op) {
  int64_t vector = tile::getLaneShape(typeOf(op.getNumbers())).vector;
  if (op->getParentOfType<tile::FuncOp>().getWorkgroup() == 1 &&
      vector % (32 / static_cast<int64_t>(op.getPacked())) == 0)
    return success();
  return op.emitOpError("splits integers only in workgroups of one lane, a register to whole words");
}

LogicalResult checkTurn(tile::TurnIntegersOp op) {
  int64_t vector = tile::getLaneShape(op.getType()).vector;
  if (op->getParentOfType<tile::FuncOp>().getWorkgroup() == 1 && (vector == 8 || vector == 16) &&
      tile::getLaneShape(typeOf(op.getWords())).vector == vector)
    return success();
  return op.emitOpError("turns registers of 8 or 16 elements, only in workgroups of one lane");
}

LogicalResult checkPairs(tile::PairsOp op) {
  tile::LaneShape tile = tile::getLaneShape(typeOf(op.getTile())), words = tile::getLaneShape(op.getType());
  if (op->getParentOfType<tile::FuncOp>().getWorkgroup() == 1 && words.vector > 1 && tile.vector == words.vector)
    return success();
  return op.emitOpError("puts pairs of registers into registers of as many words, only in workgroups of one lane");
}

/// Producers come to no barrier of their workgroup.
LogicalResult checkWait(tile::WaitOp op) {
  if (!op->getParentOfType<tile::FuncOp>().getProducers())
    return success();
  return op.emitOpError("waits for all lanes, in a kernel whose producers do not wait");
}

LogicalResult checkRandom(tile::RandomOp op) {
  if (op.getStreams() && op.getStreams().getType() != op.getRows().getType())
    return op.emitOpError() << "has streams of type " << op.getStreams().getType() << ", and rows of type "
                            << op.getRows().getType();
  return checkSameLayout(op, op.getType(), op.getRows(), "places");
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
  auto sum = tile::getLayout<CooperativeAttr>(op.getType());
  auto has = [&](Value value, tile::MatrixUse use) {
    return sum && tile::getLayout<CooperativeAttr>(value.getType()) ==
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
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([](tile::DotOp op) { return checkCooperativeDot(op); })
      .Case([](tile::BroadcastOp op) { return checkCooperativeBroadcast(op); })
      .Case([](tile::ColumnsOp op) { return checkColumns(op); })
      .Case([](arith::ConstantOp op) { return checkConstant(op); })
      .Case<arith::MulFOp, scf::ForOp, scf::YieldOp>([](Operation *) { return success(); })
      .Case<tile::LoadOp, tile::StoreOp>([](auto op) -> LogicalResult {
        if (movesMatrices(op))
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
          int dim = op.getTransposed() ? 1 : 0;
          return checkDistribution(op, op.getType(), dim, op.getRows(), dim, /*inVectors=*/op.getTransposed());
        })
        .Case([](tile::LoadOp op) { return checkLoad(op); })
        .Case([](tile::StoreOp op) {
          return op.getTo() ? checkDistribution(op, typeOf(op.getValue()), 0, op.getTo(), 0) : success();
        })
        .Case([](tile::TurnIntegersOp op) { return checkTurn(op); })
        .Case([](tile::PairsOp op) { return checkPairs(op); })
        .Case([](tile::StoreDigitsOp op) { return checkDigits(op); })
        .Case([](tile::WaitOp op) { return checkWait(op); })
        .Case([](arith::ConstantOp op) { return checkConstant(op); })
        .Case([](tile::RandomOp op) { return checkRandom(op); })
        .Case([](tile::LookupOp op) { return checkSameLayout(op, op.getType(), op.getNumbers(), "numbers"); })
        .Default([](Operation *) { return success(); });
  });
  return failure(result.wasInterrupted());
}
