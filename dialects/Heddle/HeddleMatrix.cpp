// Matmuls, sums, norms, cross entropy and scatters: verifiers, canonicalization and gradients.
#include "dialects/Heddle/Checks.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::heddle;

/// `columns` is the dimension of the result that counts its columns.
template <typename ProductOp> static LogicalResult verifyProduct(ProductOp op, int columns) {
  RankedTensorType lhs = typeOf(op.getLhs()), rhs = typeOf(op.getRhs()), result = typeOf(op.getResult());
  int64_t lhsRow = op.getTransposeLhs() ? 1 : 0, rhsColumn = op.getTransposeRhs() ? 0 : 1;
  if (lhs.getElementType() != rhs.getElementType())
    return op.emitOpError() << "multiplies elements of a single type, got " << lhs << " and " << rhs;
  if (failed(expectSameDim(op, "contracted extent", {lhs, 1 - lhsRow}, {{rhs, 1 - rhsColumn}})) ||
      failed(expectSameDim(op, "number of rows", {lhs, lhsRow}, {{result, 0}})))
    return failure();
  return expectSameDim(op, "number of columns", {rhs, rhsColumn}, {{result, columns}});
}

LogicalResult MatmulOp::verify() { return verifyProduct(*this, /*columns=*/1); }

bool MatmulOp::isRowwise(IsOfRows isOfRows) { return !getTransposeLhs() && !isOfRows(getRhs()); }

SmallVector<OpOperand *> MatmulOp::getProductOperands() { return {&getLhsMutable(), &getRhsMutable()}; }

Gradients MatmulOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  Value lhs = getLhs(), rhs = getRhs(), gradient = resultGradients[0];
  bool transposeLhs = getTransposeLhs(), transposeRhs = getTransposeRhs();
  auto product = [&](Value of, Value a, bool transposeA, Value b, bool transposeB) -> Value {
    return MatmulOp::create(builder, getLoc(), of.getType(), a, b, transposeA, transposeB);
  };
  // C = A' B' with A' = A or A^T: dA' = dC B'^T and dB' = A'^T dC, transposed once more if the operand is transposed.
  Value lhsGradient = transposeLhs ? product(lhs, rhs, transposeRhs, gradient, true)
                                   : product(lhs, gradient, false, rhs, !transposeRhs);
  Value rhsGradient = transposeRhs ? product(rhs, gradient, true, lhs, transposeLhs)
                                   : product(rhs, lhs, !transposeLhs, gradient, false);
  return SmallVector<Value>{lhsGradient, rhsGradient};
}

LogicalResult PartialProductsOp::verify() {
  return failed(verifyParts(*this, typeOf(getResult()))) ? failure() : verifyProduct(*this, /*columns=*/2);
}

/// Checks the `weights` and `biases` of `parts.size()` transformations from `input` to each of `parts`.
static LogicalResult verifyProjections(Operation *op, RankedTensorType input, RankedTensorType weights,
                                       RankedTensorType biases, TypeRange parts) {
  int64_t count = parts.size();
  if (count == 0)
    return op->emitOpError("expects at least one projection");
  for (Type part : parts)
    if (part != parts.front())
      return op->emitOpError() << "expects projections of a single type, got " << parts.front() << " and " << part;
  auto part = cast<RankedTensorType>(parts.front());
  if (failed(expectStaticColumns(op, input)) || failed(expectStaticColumns(op, part)) ||
      failed(expectSameDim(op, "number of rows", {input, 0}, {{part, 0}})))
    return failure();
  if (weights.getShape() != ArrayRef<int64_t>{count * input.getDimSize(1), part.getDimSize(1)} ||
      biases.getShape() != ArrayRef<int64_t>{count * part.getDimSize(1)})
    return op->emitOpError() << "expects weights and biases of " << count << " projections from " << input << " to "
                             << part << ", got " << weights << " and " << biases;
  return success();
}

LogicalResult ProjectOp::verify() {
  return verifyProjections(*this, typeOf(getInput()), typeOf(getWeights()), typeOf(getBiases()),
                           getProjections().getTypes());
}

Gradients ProjectOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  SmallVector<Value> gradients;
  for (auto [result, gradient] : llvm::zip(getResults(), resultGradients)) {
    if (!gradient) // nothing depends on this projection
      gradient = FillOp::create(builder, getLoc(), result.getType(), builder.getF32FloatAttr(0));
    gradients.push_back(gradient);
  }
  Value input = ProjectGradInputOp::create(builder, getLoc(), getInput().getType(), getWeights(), gradients);
  auto parameters = ProjectGradWeightsOp::create(builder, getLoc(), getWeights().getType(), getBiases().getType(),
                                                 getInput(), gradients);
  return SmallVector<Value>{input, parameters.getWeights(), parameters.getBiases()};
}

LogicalResult ProjectGradInputOp::verify() {
  if (getGradients().empty())
    return emitOpError("expects at least one projection");
  RankedTensorType gradient = typeOf(getGradients().front());
  auto biases = RankedTensorType::get({static_cast<int64_t>(getGradients().size()) * gradient.getDimSize(1)},
                                      gradient.getElementType());
  return verifyProjections(*this, typeOf(getResult()), typeOf(getWeights()), biases, getGradients().getTypes());
}

LogicalResult ProjectGradWeightsOp::verify() {
  return verifyProjections(*this, typeOf(getInput()), typeOf(getWeights()), typeOf(getBiases()),
                           getGradients().getTypes());
}

/// The sum over the rows of a tensor<MxHxN> has H*N elements.
static LogicalResult expectSumsOfParts(Operation *op, RankedTensorType input, DimOf sums) {
  int64_t columns = input.getDimSize(1) * input.getDimSize(2);
  if (!sums.type.isDynamicDim(sums.dim) && sums.type.getDimSize(sums.dim) == columns)
    return success();
  return op->emitOpError() << "expects " << columns << " sums of the rows of " << input << ", got " << sums.type;
}

LogicalResult SumOp::verify() {
  if (failed(expectTensorsOfKernels(*this)))
    return failure();
  RankedTensorType input = typeOf(getInput()), result = typeOf(getResult());
  bool vector = input.getRank() == 1, hasParts = input.getRank() == 3;
  if (hasParts && (input.isDynamicDim(1) || input.isDynamicDim(2)))
    return emitOpError() << "expects a matrix, a row or a column, got " << input;
  bool isByPart = hasParts && getColumns() && result.getRank() == 2;
  if (result.getRank() != 1 && !isByPart)
    return emitOpError() << "cannot sum " << input << " to " << result;
  if (vector && isColumn(input) == getColumns())
    return emitOpError() << "cannot sum " << (getColumns() ? "the columns" : "the rows") << " of " << input;
  if (vector && result.getShape() != ArrayRef<int64_t>{1})
    return emitOpError() << "expects the sum of " << input << " to be a scalar, got " << result;
  if (vector)
    return success();
  if (isByPart && failed(expectSameDim(*this, "number of parts", {input, 1}, {{result, 1}})))
    return failure();
  if (hasParts && !getColumns())
    return expectSumsOfParts(*this, input, {result, 0});
  return expectSameDim(*this, "remaining extent", {input, getColumns() ? 0 : 1}, {{result, 0}});
}

/// The sum over one column is the column.
LogicalResult SumOp::canonicalize(SumOp op, PatternRewriter &rewriter) {
  RankedTensorType input = cast<RankedTensorType>(op.getInput().getType());
  if (!op.getColumns() || input.getRank() < 2 || input.getDimSize(1) != 1 || input.getDimSize(input.getRank() - 1) != 1)
    return failure();
  rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getInput());
  return success();
}

bool SumOp::isRowwise(IsOfRows isOfRows) { return getColumns(); }

Gradients SumOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  RankedTensorType input = typeOf(getInput()), result = typeOf(getResult());
  // A broadcast tells a row from a column by its extent, so a column of static extent cannot be repeated.
  bool isScalar = result.getShape() == ArrayRef<int64_t>{1}, isOfColumns = isColumn(result) || result.getRank() == 2;
  if (!isScalar && isOfColumns != getColumns())
    return emitOpError() << "has no gradient rule for a sum from " << input << " to " << result;
  if (input.getRank() < 3 || getColumns() || isScalar)
    return SmallVector<Value>{BroadcastOp::create(builder, getLoc(), input, resultGradients[0])};
  // The sums are one row, in which the parts lie side by side.
  Value rows = BroadcastOp::create(builder, getLoc(), getTypeOfDims({{input, 0}, {result, 0}}, builder.getF32Type()),
                                   resultGradients[0]);
  return SmallVector<Value>{ReshapeOp::create(builder, getLoc(), input, rows)};
}

LogicalResult PartialSumsOp::verify() {
  if (failed(expectTensorsOfKernels(*this)))
    return failure();
  RankedTensorType input = typeOf(getInput()), result = typeOf(getResult());
  if (result.isDynamicDim(1))
    return emitOpError() << "expects a static number of columns, got " << result;
  if (input.getRank() == 2)
    return expectSameDim(*this, "width", {input, 1}, {{result, 1}});
  if (input.getRank() == 3 && !input.isDynamicDim(1) && !input.isDynamicDim(2))
    return expectSumsOfParts(*this, input, {result, 1});
  if (!isColumn(input) || result.getDimSize(1) != 1)
    return emitOpError() << "expects sums of the rows of a matrix, or of a column to a single column, got " << input
                         << " and " << result;
  return success();
}

LogicalResult LayerNormOp::verify() {
  RankedTensorType input = typeOf(getInput());
  if (failed(expectStaticColumns(*this, input)) ||
      failed(expectSameDim(*this, "width", {input, 1}, {{typeOf(getGamma()), 0}, {typeOf(getBeta()), 0}})))
    return failure();
  return expectSameDim(*this, "number of rows", {input, 0}, {{typeOf(getMean()), 0}});
}

Gradients LayerNormOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  if (failed(expectFirstOnly(*this, resultGradients)))
    return failure();
  if (!isColumn(typeOf(getMean())))
    return emitOpError() << "has no gradient rule for a static number of rows, as in " << getInput().getType();
  Location loc = getLoc();
  Value gradient = resultGradients[0];
  Type matrix = getInput().getType(), row = getGamma().getType();
  Value input = LayerNormGradOp::create(builder, loc, matrix, gradient, getInput(), getGamma(), getMean(), getRstd());

  Value mean = BroadcastOp::create(builder, loc, matrix, getMean());
  Value rstd = BroadcastOp::create(builder, loc, matrix, getRstd());
  Value centred = arith::SubFOp::create(builder, loc, getInput(), mean);
  Value normalised = arith::MulFOp::create(builder, loc, centred, rstd);
  Value scaled = arith::MulFOp::create(builder, loc, gradient, normalised);
  Value gamma = SumOp::create(builder, loc, row, scaled, /*columns=*/false);
  Value beta = SumOp::create(builder, loc, row, gradient, /*columns=*/false);
  return SmallVector<Value>{input, gamma, beta};
}

/// Checks an op that takes a norm's input, and its mean and standard deviation besides.
template <typename Op> static LogicalResult verifyNormalised(Op op) {
  RankedTensorType input = typeOf(op.getInput());
  if (failed(expectStaticColumns(op, input)) ||
      failed(expectSameDim(op, "width", {input, 1}, {{typeOf(op.getGamma()), 0}})))
    return failure();
  return expectSameDim(op, "number of rows", {input, 0}, {{typeOf(op.getMean()), 0}});
}

LogicalResult LayerNormApplyOp::verify() { return verifyNormalised(*this); }

LogicalResult LayerNormGradOp::verify() { return verifyNormalised(*this); }

LogicalResult CrossEntropyOp::verify() {
  RankedTensorType logits = typeOf(getLogits());
  if (failed(expectRate(*this, "smoothing", getSmoothing())) || failed(expectStaticColumns(*this, logits)))
    return failure();
  return expectSameDim(*this, "number of rows", {logits, 0}, {{typeOf(getTargets()), 0}, {typeOf(getLoss()), 0}});
}

Gradients CrossEntropyOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  if (failed(expectFirstOnly(*this, resultGradients)))
    return failure();
  Value logits = CrossEntropyGradOp::create(builder, getLoc(), getLogits().getType(), getLogits(), getTargets(),
                                            getLogSumExp(), resultGradients[0], getSmoothingAttr());
  return SmallVector<Value>{logits, Value()};
}

LogicalResult CrossEntropyGradOp::verify() {
  RankedTensorType logits = typeOf(getLogits());
  if (failed(expectRate(*this, "smoothing", getSmoothing())) || failed(expectStaticColumns(*this, logits)))
    return failure();
  return expectSameDim(*this, "number of rows", {logits, 0}, {{typeOf(getTargets()), 0}, {typeOf(getLogSumExp()), 0}});
}

LogicalResult ArgmaxOp::verify() {
  if (failed(expectStaticColumns(*this, typeOf(getInput()))))
    return failure();
  return expectSameDim(*this, "number of rows", {typeOf(getInput()), 0}, {{typeOf(getResult()), 0}});
}

LogicalResult TopKOp::verify() {
  RankedTensorType input = typeOf(getInput()), values = typeOf(getValues()), rows = typeOf(getRows());
  if (bool(getStarts()) != bool(getLengths()) || (!getStarts() && !getRowSize().empty()))
    return emitOpError("expects starts and lengths of segments, and 'row_size', together or not at all");
  RankedTensorType segments = getStarts() ? typeOf(getStarts()) : input;
  if (failed(expectStaticColumns(*this, input)) || failed(expectStaticColumns(*this, values)) ||
      (getLengths() &&
       failed(expectSameDim(*this, "number of segments", {segments, 0}, {{typeOf(getLengths()), 0}}))) ||
      failed(expectSameDim(*this, "number of segments", {segments, 0}, {{values, 0}, {rows, 0}})) ||
      failed(expectSameDim(*this, "number of results", {values, 1}, {{rows, 1}})))
    return failure();
  int64_t count = values.getDimSize(1);
  if (count < 1 || count > input.getDimSize(1))
    return emitOpError() << "expects to take 1 to " << input.getDimSize(1) << " elements of a segment, got " << count;
  return success();
}

bool TopKOp::isRowwise(IsOfRows isOfRows) { return !getStarts(); }

template <typename ScatterOp> static LogicalResult verifyScatter(ScatterOp op) {
  RankedTensorType destination = typeOf(op.getDestination()), rows = typeOf(op.getRows());
  if (failed(expectSameElements(op, destination, rows)) ||
      failed(expectSameDim(op, "width", {destination, 1}, {{rows, 1}})))
    return failure();
  return expectSameDim(op, "number of rows", {typeOf(op.getIndices()), 0}, {{rows, 0}});
}

LogicalResult ScatterAddOp::verify() { return verifyScatter(*this); }

Gradients ScatterAddOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  Value gradient = resultGradients[0];
  Value rows = EmbeddingOp::create(builder, getLoc(), getRows().getType(), getIndices(), gradient);
  return SmallVector<Value>{gradient, Value(), rows};
}

LogicalResult ScatterRowsOp::verify() { return verifyScatter(*this); }

LogicalResult FindFirstOp::verify() {
  RankedTensorType first = typeOf(getFirst());
  return first.getRank() == 1 ? success() : expectOneColumn(*this, first);
}

LogicalResult SumEqualOp::verify() {
  if (failed(expectOneColumn(*this, typeOf(getFirst()))))
    return failure();
  return expectSameDim(*this, "number of rows", {typeOf(getIndices()), 0}, {{typeOf(getRows()), 0}});
}
