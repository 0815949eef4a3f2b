// Windows over the rows of a sequence, and strides over the pixels of images: verifiers, folds and gradients.
#include "dialects/Heddle/Checks.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::heddle;

/// The furthest neighbour in a window, in rows: a matmul of windows is a loop over these rows in one kernel.
static constexpr int64_t kWidest = 1024;
/// The widest image, in pixels: kernels compute the indices of pixels in 32 bits.
static constexpr int64_t kWidestImage = 1 << 20;

/// `narrow` is the type of the rows, and `wide` that of their windows.
template <typename WindowOp>
static LogicalResult verifyWindow(WindowOp op, RankedTensorType narrow, RankedTensorType wide) {
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

/// A window that contains only the row itself is that row.
OpFoldResult UnfoldOp::fold(FoldAdaptor) { return getFirst() == 0 && getLast() == 0 ? getInput() : Value(); }
OpFoldResult FoldOp::fold(FoldAdaptor) { return getFirst() == 0 && getLast() == 0 ? getInput() : Value(); }

FailureOr<SmallVector<Value>> UnfoldOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  Value input = FoldOp::create(builder, getLoc(), getInput().getType(), resultGradients[0], getPositions(), getFirst(),
                               getLast());
  return SmallVector<Value>{input, Value()};
}

FailureOr<SmallVector<Value>> FoldOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  Value input = UnfoldOp::create(builder, getLoc(), getInput().getType(), resultGradients[0], getPositions(),
                                 getFirst(), getLast());
  return SmallVector<Value>{input, Value()};
}

/// `large` is the type of the images' pixels, and `small` that of the pixels at every `stride`-th row and column.
template <typename StrideOp>
static LogicalResult verifyStride(StrideOp op, RankedTensorType large, RankedTensorType small) {
  auto width = static_cast<int64_t>(op.getWidth()), stride = static_cast<int64_t>(op.getStride()),
       row = static_cast<int64_t>(op.getRow()), column = static_cast<int64_t>(op.getColumn());
  if (width < 1 || width > kWidestImage || stride < 1 || width % stride != 0)
    return op.emitOpError() << "expects a width of 1 to " << kWidestImage << " and a stride that divides it, got "
                            << width << " and " << stride;
  if (row < 0 || column < 0 || row >= stride || column >= stride)
    return op.emitOpError() << "expects a first pixel within a stride of " << stride << ", got (" << row << ", "
                            << column << ")";
  if (!large.isDynamicDim(0) || !small.isDynamicDim(0) || large.isDynamicDim(1) ||
      large.getDimSize(1) != small.getDimSize(1) || (getSizeName(large, 0) == getSizeName(small, 0)) != (stride == 1))
    return op.emitOpError() << "expects some of the rows of " << large << ", got " << small;
  return success();
}

LogicalResult SubsampleOp::verify() { return verifyStride(*this, getInput().getType(), getResult().getType()); }
LogicalResult UpsampleOp::verify() { return verifyStride(*this, getResult().getType(), getInput().getType()); }

/// A stride of 1 keeps all pixels.
OpFoldResult SubsampleOp::fold(FoldAdaptor) { return getStride() == 1 ? getInput() : Value(); }
OpFoldResult UpsampleOp::fold(FoldAdaptor) { return getStride() == 1 ? getInput() : Value(); }

FailureOr<SmallVector<Value>> SubsampleOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  return SmallVector<Value>{UpsampleOp::create(builder, getLoc(), getInput().getType(), resultGradients[0], getWidth(),
                                               getStride(), getRow(), getColumn())};
}

FailureOr<SmallVector<Value>> UpsampleOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  return SmallVector<Value>{SubsampleOp::create(builder, getLoc(), getInput().getType(), resultGradients[0], getWidth(),
                                                getStride(), getRow(), getColumn())};
}
