// Elementwise ops, constants and rows by index: verifiers and gradients.
#include "dialects/Heddle/Checks.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::heddle;

LogicalResult FillOp::verify() {
  Type element = typeOf(getResult()).getElementType();
  if (getValue().getType() != element)
    return emitOpError() << "expects a value of type " << element << ", got " << getValue();
  return success();
}

LogicalResult IotaOp::verify() {
  int64_t dim = static_cast<int64_t>(getDim());
  RankedTensorType type = typeOf(getResult());
  if (type.getRank() == 1 ? dim == 0 : dim == 1 || dim == 2)
    return success();
  return emitOpError() << "expects dimension " << (type.getRank() == 1 ? "0" : "1 or 2") << " of " << type << ", got "
                       << dim;
}

/// Indices of columns, heads or keys are the same in each row. Row indices would start at 0 again for each row.
bool IotaOp::isRowwise(IsOfRows isOfRows) {
  return getDim() != 0 || cast<RankedTensorType>(getType()).hasStaticShape();
}

LogicalResult BroadcastOp::verify() {
  if (failed(expectTensorsOfKernels(*this)))
    return failure();
  RankedTensorType input = typeOf(getInput()), result = typeOf(getResult());
  if (failed(expectSameElements(*this, input, result)))
    return failure();
  bool parts = input.getRank() == 2 && result.getRank() == 3;
  if (input.getRank() != 1 && !parts)
    return emitOpError() << "expects a scalar, a row, a column or a number for each part of a row, got " << input;
  bool scalar = input.getRank() == 1 && input.getDimSize(0) == 1;
  bool row = !isColumn(input) && sameDim({input, 0}, {result, result.getRank() - 1});
  bool column = isColumn(input) && sameDim({input, 0}, {result, 0});
  if (parts ? !sameDim({input, 0}, {result, 0}) || !sameDim({input, 1}, {result, 1}) : !scalar && !row && !column)
    return emitOpError() << "cannot repeat " << input << " over " << result;
  return success();
}

/// Sums all elements in two steps, each of which is one reduction along rows or columns.
static Value sumToScalar(OpBuilder &builder, Location loc, Value value) {
  if (typeOf(value).getRank() > 1) {
    int64_t columns = ShapedType::getNumElements(typeOf(value).getShape().drop_front());
    value =
        SumOp::create(builder, loc, RankedTensorType::get({columns}, builder.getF32Type()), value, /*columns=*/false);
  }
  if (typeOf(value).getShape() == ArrayRef<int64_t>{1})
    return value;
  auto scalar = RankedTensorType::get({1}, builder.getF32Type());
  return SumOp::create(builder, loc, scalar, value, /*columns=*/!isColumn(typeOf(value)));
}

Gradients BroadcastOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  Value gradient = resultGradients[0];
  RankedTensorType input = typeOf(getInput()), result = typeOf(getResult());
  bool isScalar = input.getShape() == ArrayRef<int64_t>{1}, isOfColumns = isColumn(input) || input.getRank() == 2;
  if (isScalar)
    return SmallVector<Value>{sumToScalar(builder, getLoc(), gradient)};
  if (result.getRank() == 1)
    return SmallVector<Value>{gradient};
  if (result.getRank() == 2 || isOfColumns)
    return SmallVector<Value>{SumOp::create(builder, getLoc(), input, gradient, /*columns=*/isOfColumns)};
  // All parts share the row: sum over the rows, and then over the parts.
  int64_t parts = result.getDimSize(1), columns = result.getDimSize(2);
  auto typeOfSums = [&](ArrayRef<int64_t> shape) { return RankedTensorType::get(shape, builder.getF32Type()); };
  Value sums = SumOp::create(builder, getLoc(), typeOfSums({parts * columns}), gradient, /*columns=*/false);
  Value ofParts = ReshapeOp::create(builder, getLoc(), typeOfSums({parts, columns}), sums);
  return SmallVector<Value>{SumOp::create(builder, getLoc(), input, ofParts, /*columns=*/false)};
}

Gradients StopGradientOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  return SmallVector<Value>{Value()};
}

LogicalResult EmbeddingOp::verify() {
  RankedTensorType table = typeOf(getTable()), result = typeOf(getResult());
  if (failed(expectSameElements(*this, table, result)))
    return failure();
  if (table.getRank() != result.getRank())
    return emitOpError() << "expects a result of the table's rank, got " << table << " and " << result;
  for (int64_t dim = 1; dim < table.getRank(); ++dim)
    if (failed(expectSameDim(*this, "width", {table, dim}, {{result, dim}})))
      return failure();
  return expectSameDim(*this, "number of rows", {typeOf(getIndices()), 0}, {{result, 0}});
}

bool EmbeddingOp::isRowwise(IsOfRows isOfRows) { return !isOfRows(getTable()); }

Gradients EmbeddingOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  RankedTensorType table = typeOf(getTable());
  if (table.getRank() > 2)
    return emitOpError() << "has no gradient rule for rows of " << table;
  Value gradient = resultGradients[0];
  auto number = RankedTensorType::get({1}, builder.getI32Type());
  auto columnOf = [&](RankedTensorType rows, Type element) { return getTypeOfDims({{rows, 0}, {number, 0}}, element); };
  // `find_first` and `sum_equal` work on rows, so the elements of a vector become rows of one column.
  bool isVector = table.getRank() == 1;
  if (isVector)
    gradient = BroadcastOp::create(builder, getLoc(), columnOf(typeOf(gradient), builder.getF32Type()), gradient);
  Value first = FindFirstOp::create(builder, getLoc(), columnOf(table, builder.getI32Type()), getIndices());
  Value sums = SumEqualOp::create(builder, getLoc(), gradient.getType(), getIndices(), first, gradient);
  Type ofRows = isVector ? columnOf(table, builder.getF32Type()) : table;
  Value ofTable = DensifyOp::create(builder, getLoc(), ofRows, first, sums);
  if (isVector)
    ofTable = ReshapeOp::create(builder, getLoc(), table, ofTable);
  return SmallVector<Value>{Value(), ofTable};
}

/// Returns the type of a matrix's scales as if they were not in panels.
static RankedTensorType withoutPanels(RankedTensorType scales, RankedTensorType whole, int64_t panels) {
  if (panels < 2 || !scales.hasStaticShape() || scales.getDimSize(1) * panels != whole.getDimSize(1) ||
      scales.getDimSize(0) % panels != 0)
    return scales;
  return scales.clone({scales.getDimSize(0) / panels, whole.getDimSize(1)});
}

LogicalResult DequantizeOp::verify() {
  RankedTensorType words = typeOf(getWords()), result = typeOf(getResult());
  auto bits = static_cast<int64_t>(getBits()), highBits = static_cast<int64_t>(getHighBits());
  if (bits != 2 && bits != 4 && bits != 8)
    return emitOpError() << "unpacks numbers of 2, 4 or 8 bits, got " << bits;
  bool isKnown = getHigh() ? (highBits == 1 || highBits == 2) && bits < 8 : highBits == 0;
  if (!isKnown)
    return emitOpError() << "has one or two upper bits of numbers of 2 or 4 bits in words of their own, got "
                         << highBits << (getHigh() ? " with" : " without") << " such words";
  if (getTable() &&
      (bits != 4 || getHigh() || !getIsUnsigned() || typeOf(getTable()).getShape() != ArrayRef<int64_t>{1, 16}))
    return emitOpError() << "expects a table of 1x16 values for unsigned numbers of 4 bits, got " << typeOf(getTable());
  bool isStatic = words.hasStaticShape() && result.hasStaticShape();
  int64_t panels = isStatic && getPanel() > 0 ? result.getDimSize(1) / getPanel() : 0;
  auto verifyWords = [&](RankedTensorType words, int64_t bits) -> LogicalResult {
    if (isStatic && words.hasStaticShape() && words.getDimSize(1) * panels == result.getDimSize(1) &&
        words.getDimSize(0) == panels * static_cast<int64_t>(llvm::divideCeil(result.getDimSize(0), 32 / bits)))
      return success();
    return emitOpError() << "expects a word for " << 32 / bits << " rows of a column, got " << words << " and "
                         << result;
  };
  if (failed(verifyWords(words, bits)) || (getHigh() && failed(verifyWords(typeOf(getHigh()), highBits))))
    return failure();
  if (getOffsets() && (!getScales() || typeOf(getOffsets()) != typeOf(getScales())))
    return emitOpError() << "expects an offset for each scale, got " << typeOf(getOffsets());
  if (!getScales())
    return success();
  RankedTensorType scales = withoutPanels(typeOf(getScales()), result, panels);
  auto divides = [&](int64_t dim) {
    return !scales.isDynamicDim(dim) && scales.getDimSize(dim) > 0 &&
           result.getDimSize(dim) % scales.getDimSize(dim) == 0;
  };
  if (divides(0) && divides(1))
    return success();
  return emitOpError() << "expects scales of equal groups of rows and columns, got " << typeOf(getScales()) << " for "
                       << result;
}

int64_t DequantizeOp::getPanel() { return typeOf(getWords()).getDimSize(1); }

std::pair<int64_t, int64_t> DequantizeOp::getGroup() {
  if (!getScales())
    return {1, 1};
  RankedTensorType whole = getResult().getType();
  RankedTensorType scales = withoutPanels(typeOf(getScales()), whole, whole.getDimSize(1) / getPanel());
  return {whole.getDimSize(0) / scales.getDimSize(0), whole.getDimSize(1) / scales.getDimSize(1)};
}

LogicalResult JoinPanelsOp::verify() {
  RankedTensorType panels = typeOf(getPanels()), result = typeOf(getResult());
  if (panels.getElementType() == result.getElementType() && panels.hasStaticShape() && result.hasStaticShape() &&
      panels.getNumElements() == result.getNumElements() && panels.getDimSize(1) > 0 &&
      result.getDimSize(1) % panels.getDimSize(1) == 0)
    return success();
  return emitOpError() << "expects whole panels of the result's columns, got " << panels << " for " << result;
}

LogicalResult SumPartsOp::verify() {
  RankedTensorType parts = typeOf(getParts()), result = typeOf(getResult());
  if (failed(verifyParts(*this, parts)) || failed(expectSameDim(*this, "number of rows", {parts, 0}, {{result, 0}})))
    return failure();
  return expectSameDim(*this, "number of columns", {parts, 2}, {{result, 1}});
}

LogicalResult DensifyOp::verify() {
  RankedTensorType result = typeOf(getResult());
  if (failed(expectOneColumn(*this, typeOf(getPlaces()))) ||
      failed(expectSameDim(*this, "width", {typeOf(getRows()), 1}, {{result, 1}})))
    return failure();
  return expectSameDim(*this, "number of rows", {typeOf(getPlaces()), 0}, {{result, 0}});
}

LogicalResult SinusoidOp::verify() {
  if (failed(expectStaticColumns(*this, typeOf(getResult()))))
    return failure();
  if (getHalves() && typeOf(getResult()).getDimSize(1) % 2 != 0)
    return emitOpError() << "expects an even number of columns where sines and cosines are halves, got "
                         << getResult().getType();
  return expectSameDim(*this, "number of rows", {typeOf(getPositions()), 0}, {{typeOf(getResult()), 0}});
}

LogicalResult NumbersOp::verify() {
  constexpr int64_t most = 4096; // a kernel selects among them by index
  auto count = static_cast<int64_t>(getValues().size());
  if (count < 1 || count > most || getResult().getType().getShape() != ArrayRef<int64_t>{count})
    return emitOpError() << "expects 1 to " << most << " numbers and a row of as many, got " << count << " and "
                         << getResult().getType();
  return success();
}

LogicalResult RotaryOp::verify() {
  RankedTensorType input = typeOf(getInput()), frequencies = typeOf(getFrequencies());
  if (failed(expectStaticColumns(*this, input)) ||
      failed(expectSameDim(*this, "number of rows", {input, 0}, {{typeOf(getPositions()), 0}})))
    return failure();
  if (static_cast<int64_t>(getHeadWidth()) < 0)
    return emitOpError() << "expects a width of heads from 0 on, got " << static_cast<int64_t>(getHeadWidth());
  bool hasHeads = frequencies.hasStaticShape() && frequencies.getDimSize(0) > 0 && getTurnedColumns() % 2 == 0 &&
                  getTurnedColumns() <= getHeadColumns() && input.getDimSize(1) % getHeadColumns() == 0;
  if (hasHeads)
    return success();
  return emitOpError() << (getNeighbours() ? "expects heads of pairs of columns, with a frequency for each column, got "
                                           : "expects heads of two columns for each frequency, got ")
                       << input << " and " << frequencies;
}

int64_t RotaryOp::getTurnedColumns() { return (getNeighbours() ? 1 : 2) * typeOf(getFrequencies()).getDimSize(0); }

int64_t RotaryOp::getHeadColumns() {
  return getHeadWidth() > 0 ? static_cast<int64_t>(getHeadWidth()) : getTurnedColumns();
}

// A rotation's transpose is its inverse.
Gradients RotaryOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  return SmallVector<Value>{RotaryOp::create(builder, getLoc(), getType(), resultGradients[0], getPositions(),
                                             getFrequencies(), !getInverse(), getNeighbours(), getHeadWidth()),
                            Value(), Value()};
}

LogicalResult DropoutOp::verify() { return expectRate(*this, "rate", getRate()); }

Gradients DropoutOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  Value input = DropoutOp::create(builder, getLoc(), getInput().getType(), resultGradients[0], getSeed(), getStep(),
                                  getRateAttr(), getStreamAttr());
  return SmallVector<Value>{input, Value(), Value()};
}

LogicalResult RandomOp::verify() {
  if (!typeOf(getResult()).hasStaticShape())
    return emitOpError() << "expects a static shape, got " << getResult().getType();
  return success();
}

/// The numbers depend on the row's index in the batch.
bool RandomOp::isRowwise(IsOfRows isOfRows) { return false; }

SmallVector<std::pair<Value, Value>> AdamOp::getStates() {
  SmallVector<std::pair<Value, Value>> pairs = {{getFirstMoment(), getNewFirstMoment()},
                                                {getSecondMoment(), getNewSecondMoment()}};
  if (getAverage())
    pairs.push_back({getAverage(), getNewAverage()});
  return pairs;
}

LogicalResult AdamOp::verify() {
  RankedTensorType weight = typeOf(getWeight()), moment = typeOf(getFirstMoment());
  if (!weight.hasStaticShape())
    return emitOpError() << "expects a weight of static shape, got " << weight;
  if (moment.clone(weight.getElementType()) != weight)
    return emitOpError() << "expects moments of the weight's shape, got " << moment << " for " << weight;
  if (moment.getElementType().isBF16() != bool(getStep()))
    return emitOpError() << "rounds moments of bf16, and no others, at random by the number of the step: "
                         << (getStep() ? "leave out `rounding`" : "add `rounding %step`");
  if (failed(expectRate(*this, "beta1", getBeta1())) || failed(expectRate(*this, "beta2", getBeta2())))
    return failure();
  if (getEpsilon().isNegative() || getEpsilon().isZero())
    return emitOpError("expects 'epsilon' above 0");
  if (bool(getAverage()) != bool(getDecay()) || bool(getAverage()) != bool(getNewAverage()))
    return emitOpError("expects an average, its 'decay' and its new value together or not at all");
  if (!getAverage())
    return success();
  if (getAverage().getType() != getWeight().getType() || getNewAverage().getType() != getWeight().getType())
    return emitOpError() << "expects an average of the weight's type " << getWeight().getType();
  return expectRate(*this, "decay", *getDecay());
}
