// Windows over the rows of a sequence: what they demand, and their gradients.
#include "dialects/Heddle/Heddle.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::heddle;

/// The widest window, and the furthest neighbour: products of windows are loops of one kernel.
static constexpr int64_t kWidest = 1024;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// `narrow` has the rows, and `wide` their windows.
template <typename WindowOp> static LogicalResult verifyWindow(WindowOp op, RankedTensorType narrow, RankedTensorType wide) {
  int64_t first = op.getFirst(), last = op.getLast();
  if (last < first)
    return op.emitOpError() << "expects a window from its first row to its last, got " << first << " to " << last;
  if (first < -kWidest || last > kWidest)
    return op.emitOpError() << "reaches from " << first << " to " << last << ", and windows reach " << kWidest
                            << " rows at most in each direction";
  RankedTensorType positions = typeOf(op.getPositions());
  if (!isColumn(positions) || !narrow.isDynamicDim(0) || getSizeName(positions, 0) != getSizeName(narrow, 0))
    return op.emitOpError() << "expects a position for each row of " << narrow << ", got " << positions;
  int64_t columns = narrow.getDimSize(1) * (last - first + 1);
  auto expected = RankedTensorType::get({narrow.getDimSize(0), columns}, narrow.getElementType(), narrow.getEncoding());
  if (narrow.isDynamicDim(1) || wide != expected)
    return op.emitOpError() << "expects windows of " << last - first + 1 << " rows of " << narrow << ", got " << wide;
  return success();
}

LogicalResult UnfoldOp::verify() { return verifyWindow(*this, getInput().getType(), getResult().getType()); }
LogicalResult FoldOp::verify() { return verifyWindow(*this, getResult().getType(), getInput().getType()); }

/// A window of the row alone is the row.
OpFoldResult UnfoldOp::fold(FoldAdaptor) { return getFirst() == 0 && getLast() == 0 ? getInput() : Value(); }
OpFoldResult FoldOp::fold(FoldAdaptor) { return getFirst() == 0 && getLast() == 0 ? getInput() : Value(); }

FailureOr<SmallVector<Value>> UnfoldOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  Value input = FoldOp::create(builder, getLoc(), getInput().getType(), resultGradients[0], getPositions(), getFirst(), getLast());
  return SmallVector<Value>{input, Value()};
}

FailureOr<SmallVector<Value>> FoldOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  Value input = UnfoldOp::create(builder, getLoc(), getInput().getType(), resultGradients[0], getPositions(), getFirst(), getLast());
  return SmallVector<Value>{input, Value()};
}
