// Ops that draw tokens: verifiers.
#include "dialects/Heddle/Checks.h"

using namespace mlir;
using namespace mlir::heddle;

LogicalResult DrawOp::verify() {
  RankedTensorType logits = typeOf(getLogits());
  if (failed(expectStaticColumns(*this, logits)) || failed(expectColumn(*this, "rows", logits)))
    return failure();
  return expectSameDim(*this, "number of rows", {logits, 0}, {{typeOf(getTemperature()), 0}, {typeOf(getTopK()), 0}});
}

LogicalResult PenaliseOp::verify() {
  if (failed(expectStaticColumns(*this, typeOf(getLogits()))) ||
      failed(expectColumn(*this, "places", typeOf(getRows()))))
    return failure();
  return expectSameDim(*this, "number of places", {typeOf(getRows()), 0}, {{typeOf(getPenalties()), 0}});
}

LogicalResult GumbelOp::verify() {
  RankedTensorType rows = typeOf(getRows()), result = typeOf(getResult());
  if (result.isDynamicDim(1) || getDimType(result, 0, rows.getElementType()) != rows)
    return emitOpError() << "expects a number for each row of its result, whose columns are of a static number, got "
                         << rows << " and " << result;
  return success();
}

/// An operand gives the number of each row, so a row has the same noise wherever it is.
bool GumbelOp::isRowwise(IsOfRows isOfRows) { return true; }
