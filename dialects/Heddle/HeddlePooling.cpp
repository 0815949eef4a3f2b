// Pooling of the rows of each sequence: verifier and gradient.
#include "dialects/Heddle/Checks.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::heddle;

LogicalResult SegmentOp::verify() {
  RankedTensorType input = typeOf(getInput()), result = getResult().getType(), starts = typeOf(getStarts());
  if (failed(expectStaticColumns(*this, input)) || failed(expectColumn(*this, "rows", input)) ||
      failed(expectColumn(*this, "segments", starts)) ||
      failed(expectSameDim(*this, "width", {input, 1}, {{result, 1}})) ||
      failed(expectSameDim(*this, "number of segments", {starts, 0}, {{result, 0}})))
    return failure();
  bool chooses = getPool() != Pool::Sum;
  if (chooses != static_cast<bool>(getChosen()))
    return emitOpError() << (chooses ? "expects a second result for the rows in which the chosen elements are"
                                     : "chooses no rows, so that a sum is its only result");
  if (!chooses)
    return success();
  RankedTensorType chosen = typeOf(getChosen());
  if (failed(expectSameDim(*this, "width", {result, 1}, {{chosen, 1}})))
    return failure();
  return expectSameDim(*this, "number of segments", {result, 0}, {{chosen, 0}});
}

// Each row gets its segment's gradient. For max and min, only the chosen row gets it, and the other rows get 0.
Gradients SegmentOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  Location loc = getLoc();
  RankedTensorType input = typeOf(getInput());
  auto withElement = [&](Type element) {
    return RankedTensorType::get(input.getShape(), element, input.getEncoding());
  };
  RankedTensorType perRow = getDimType(input, 0, builder.getI32Type()), numbers = withElement(builder.getI32Type());
  auto located = LocateOp::create(builder, loc, perRow, perRow, getStarts(), getLengths(), getRowSize());
  Value gradient = EmbeddingOp::create(builder, loc, input, located.getSequence(), resultGradients[0]);
  if (getPool() != Pool::Sum) {
    Value chosen = EmbeddingOp::create(builder, loc, numbers, located.getSequence(), getChosen());
    Value row = BroadcastOp::create(builder, loc, numbers, IotaOp::create(builder, loc, perRow, /*dim=*/0));
    Value isChosen = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, chosen, row);
    Value zero = FillOp::create(builder, loc, input, builder.getF32FloatAttr(0));
    gradient = arith::SelectOp::create(builder, loc, isChosen, gradient, zero);
  }
  return SmallVector<Value>{gradient, Value(), Value()};
}
