// Mixtures of experts: verifiers and gradients.
#include "dialects/Heddle/Checks.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::heddle;

LogicalResult PickOp::verify() {
  RankedTensorType rows = typeOf(getRows()), columns = typeOf(getColumns()), result = getType();
  if (failed(expectStaticColumns(*this, rows)) || failed(expectStaticColumns(*this, columns)) ||
      failed(expectSameDim(*this, "number of rows", {rows, 0}, {{columns, 0}, {result, 0}})))
    return failure();
  return expectSameDim(*this, "number of columns", {columns, 1}, {{result, 1}});
}

Gradients PickOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  Value rows = PlaceOp::create(builder, getLoc(), getRows().getType(), resultGradients[0], getColumns());
  return SmallVector<Value>{rows, Value()};
}

LogicalResult PlaceOp::verify() {
  RankedTensorType values = typeOf(getValues()), columns = typeOf(getColumns()), result = getType();
  if (failed(expectStaticColumns(*this, columns)) || failed(expectStaticColumns(*this, result)) ||
      failed(expectSameDim(*this, "number of rows", {values, 0}, {{columns, 0}, {result, 0}})))
    return failure();
  return expectSameDim(*this, "number of columns", {values, 1}, {{columns, 1}});
}

Gradients PlaceOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  Value values = PickOp::create(builder, getLoc(), getValues().getType(), resultGradients[0], getColumns());
  return SmallVector<Value>{values, Value()};
}

LogicalResult CountChoicesOp::verify() {
  RankedTensorType chosen = typeOf(getChosen()), counts = getType();
  if (failed(expectStaticColumns(*this, chosen)))
    return failure();
  if (!counts.hasStaticShape())
    return emitOpError() << "expects a static number of blocks and of experts, got " << counts;
  return success();
}

LogicalResult DispatchOp::verify() {
  RankedTensorType chosen = typeOf(getChosen()), counts = typeOf(getCounts()), order = typeOf(getOrder()),
                   experts = typeOf(getExperts()), starts = typeOf(getStarts());
  if (failed(expectStaticColumns(*this, chosen)) || failed(expectOneColumn(*this, order)) ||
      failed(expectSameDim(*this, "number of choices", {order, 0}, {{experts, 0}})))
    return failure();
  if (!sameElements(chosen, order))
    return emitOpError() << "expects an order of all choices of " << chosen << ", got " << order;
  if (counts.hasStaticShape() && starts.hasStaticShape() && starts.getDimSize(0) == counts.getDimSize(1) + 1)
    return success();
  return emitOpError() << "expects a start for each expert and an end, got " << starts << " for " << counts;
}

LogicalResult GatherOp::verify() {
  RankedTensorType rows = typeOf(getRows()), indices = typeOf(getIndices()), inverse = typeOf(getInverse()),
                   result = getType();
  if (failed(expectStaticColumns(*this, indices)) || failed(expectStaticColumns(*this, inverse)) ||
      failed(expectSameDim(*this, "width", {rows, 1}, {{result, 1}})) ||
      failed(expectSameDim(*this, "number of rows", {rows, 0}, {{inverse, 0}})))
    return failure();
  return expectSameDim(*this, "number of rows", {indices, 0}, {{result, 0}});
}

Gradients GatherOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  Value rows = GatherOp::create(builder, getLoc(), getRows().getType(), resultGradients[0], getInverse(), getIndices());
  return SmallVector<Value>{rows, Value(), Value()};
}

LogicalResult GroupedMatmulOp::verify() {
  RankedTensorType lhs = typeOf(getLhs()), rhs = typeOf(getRhs()), starts = typeOf(getStarts()), result = getType();
  if (lhs.getElementType() != rhs.getElementType())
    return emitOpError() << "multiplies elements of a single type, got " << lhs << " and " << rhs;
  if (!starts.hasStaticShape() || getGroups() < 1)
    return emitOpError() << "expects a static number of starts, one more than groups, got " << starts;
  if (getTransposeLhs() && getTransposeRhs())
    return emitOpError("transposes both operands; transpose the result instead");
  RankedTensorType stack = getTransposeLhs() ? result : rhs;
  if (!stack.hasStaticShape() || stack.getDimSize(0) % getGroups() != 0)
    return emitOpError() << "expects matrices of " << getGroups() << " groups, one below the other, got " << stack;
  int64_t ofGroup = stack.getDimSize(0) / getGroups();
  auto expectRows = [&](RankedTensorType type, int64_t dim, StringRef what) -> LogicalResult {
    if (type.getDimSize(dim) == ofGroup)
      return success();
    return emitOpError() << "expects " << ofGroup << " " << what << ", the rows of a group's matrix in " << stack
                         << ", got " << type;
  };
  if (getTransposeLhs())
    return failed(expectSameDim(*this, "number of rows", {lhs, 0}, {{rhs, 0}})) ||
                   failed(expectSameDim(*this, "number of columns", {rhs, 1}, {{result, 1}}))
               ? failure()
               : expectRows(lhs, 1, "columns");
  if (failed(expectSameDim(*this, "number of rows", {lhs, 0}, {{result, 0}})))
    return failure();
  if (getTransposeRhs())
    return failed(expectSameDim(*this, "contracted extent", {lhs, 1}, {{rhs, 1}})) ? failure()
                                                                                   : expectRows(result, 1, "columns");
  return failed(expectSameDim(*this, "number of columns", {rhs, 1}, {{result, 1}})) ? failure()
                                                                                    : expectRows(lhs, 1, "columns");
}

SmallVector<OpOperand *> GroupedMatmulOp::getProductOperands() { return {&getLhsMutable(), &getRhsMutable()}; }

Gradients GroupedMatmulOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  Value lhs = getLhs(), rhs = getRhs(), gradient = resultGradients[0];
  auto product = [&](Value of, Value a, Value b, bool transposeA, bool transposeB) -> Value {
    return GroupedMatmulOp::create(builder, getLoc(), of.getType(), a, b, getStarts(), transposeA, transposeB);
  };
  if (getTransposeLhs()) // C = A^T B for each group: dA = B dC^T, dB = A dC
    return SmallVector<Value>{product(lhs, rhs, gradient, false, true), product(rhs, lhs, gradient, false, false),
                              Value()};
  if (getTransposeRhs()) // C = A B^T: dA = dC B, dB = dC^T A
    return SmallVector<Value>{product(lhs, gradient, rhs, false, false), product(rhs, gradient, lhs, true, false),
                              Value()};
  return SmallVector<Value>{product(lhs, gradient, rhs, false, true), product(rhs, lhs, gradient, true, false),
                            Value()};
}
