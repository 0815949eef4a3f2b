// The gradient rules of the dialect's ops. A rule builds the gradient of every operand that can have one; those that
// nobody needs are dead code, which `differentiate` erases.
#include "dialects/Heddle/Heddle.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::heddle;

using Gradients = FailureOr<SmallVector<Value>>;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Rules know only the gradient of an op's first result; the others are there for the backward pass alone.
static LogicalResult expectFirstOnly(Operation *op, ValueRange gradients) {
  if (gradients[0] && llvm::none_of(gradients.drop_front(), [](Value gradient) { return bool(gradient); }))
    return success();
  return op->emitOpError("has a gradient rule for its first result only, but the loss depends on another result");
}

//===-- Elementwise ---------------------------------------------------------------------------------------------===//

/// The sum of all elements, in two steps so that each is one reduction along rows or columns.
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
  // A row that all parts share: sums of all columns, and then of those at the same place of each part.
  int64_t parts = result.getDimSize(1), columns = result.getDimSize(2);
  auto typeOfSums = [&](ArrayRef<int64_t> shape) { return RankedTensorType::get(shape, builder.getF32Type()); };
  Value sums = SumOp::create(builder, getLoc(), typeOfSums({parts * columns}), gradient, /*columns=*/false);
  Value ofParts = ReshapeOp::create(builder, getLoc(), typeOfSums({parts, columns}), sums);
  return SmallVector<Value>{SumOp::create(builder, getLoc(), input, ofParts, /*columns=*/false)};
}

Gradients EmbeddingOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  RankedTensorType table = typeOf(getTable());
  if (table.getRank() > 2)
    return emitOpError() << "has no gradient rule for rows of " << table;
  Value gradient = resultGradients[0];
  auto number = RankedTensorType::get({1}, builder.getI32Type());
  auto columnOf = [&](RankedTensorType rows, Type element) { return getTypeOfDims({{rows, 0}, {number, 0}}, element); };
  // Rows are summed up: a vector's elements are rows of a single one.
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

Gradients ScatterAddOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  Value gradient = resultGradients[0];
  Value rows = EmbeddingOp::create(builder, getLoc(), getRows().getType(), getIndices(), gradient);
  return SmallVector<Value>{gradient, Value(), rows};
}

// Each row takes its segment's gradient, where elements are chosen only in the row that was.
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

Gradients SliceOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  RankedTensorType input = typeOf(getInput()), result = typeOf(getResult());
  if (!input.hasStaticShape() || !result.hasStaticShape())
    return emitOpError() << "has no gradient rule for rows of " << input;
  int64_t before = static_cast<int64_t>(getFrom()), behind = input.getDimSize(0) - before - result.getDimSize(0);
  SmallVector<Value> parts;
  auto addZeros = [&](int64_t rows) {
    SmallVector<int64_t> shape(input.getShape());
    shape[0] = rows;
    if (rows > 0)
      parts.push_back(FillOp::create(builder, getLoc(), input.clone(shape), builder.getF32FloatAttr(0)));
  };
  addZeros(before);
  parts.push_back(resultGradients[0]);
  addZeros(behind);
  return SmallVector<Value>{ConcatOp::create(builder, getLoc(), input, parts)};
}

Gradients ReshapeOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  return SmallVector<Value>{ReshapeOp::create(builder, getLoc(), getInput().getType(), resultGradients[0])};
}

// A rotation's transpose is its inverse.
Gradients RotaryOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  return SmallVector<Value>{RotaryOp::create(builder, getLoc(), getType(), resultGradients[0], getPositions(),
                                             getFrequencies(), !getInverse(), getNeighbours()),
                            Value(), Value()};
}

Gradients StopGradientOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  return SmallVector<Value>{Value()};
}

Gradients DropoutOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  Value input = DropoutOp::create(builder, getLoc(), getInput().getType(), resultGradients[0], getSeed(), getStep(),
                                  getRateAttr(), getStreamAttr());
  return SmallVector<Value>{input, Value(), Value()};
}

//===-- Matrix products and reductions --------------------------------------------------------------------------===//

Gradients MatmulOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  Value lhs = getLhs(), rhs = getRhs(), gradient = resultGradients[0];
  bool transposeLhs = getTransposeLhs(), transposeRhs = getTransposeRhs();
  auto product = [&](Value of, Value a, bool transposeA, Value b, bool transposeB) -> Value {
    return MatmulOp::create(builder, getLoc(), of.getType(), a, b, transposeA, transposeB);
  };
  // C = A' B' with A' = A or A^T: dA' = dC B'^T and dB' = A'^T dC, each transposed once more where the operand is.
  Value lhsGradient = transposeLhs ? product(lhs, rhs, transposeRhs, gradient, true)
                                   : product(lhs, gradient, false, rhs, !transposeRhs);
  Value rhsGradient = transposeRhs ? product(rhs, gradient, true, lhs, transposeLhs)
                                   : product(rhs, lhs, !transposeLhs, gradient, false);
  return SmallVector<Value>{lhsGradient, rhsGradient};
}

Gradients ProjectOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  SmallVector<Value> gradients;
  for (auto [result, gradient] : llvm::zip(getResults(), resultGradients)) {
    if (!gradient) // nothing depends on this one
      gradient = FillOp::create(builder, getLoc(), result.getType(), builder.getF32FloatAttr(0));
    gradients.push_back(gradient);
  }
  Value input = ProjectGradInputOp::create(builder, getLoc(), getInput().getType(), getWeights(), gradients);
  auto parameters = ProjectGradWeightsOp::create(builder, getLoc(), getWeights().getType(), getBiases().getType(),
                                                 getInput(), gradients);
  return SmallVector<Value>{input, parameters.getWeights(), parameters.getBiases()};
}

Gradients SumOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  RankedTensorType input = typeOf(getInput()), result = typeOf(getResult());
  // A broadcast tells a row from a column by its extent, so a column of static extent cannot be repeated.
  bool isScalar = result.getShape() == ArrayRef<int64_t>{1}, isOfColumns = isColumn(result) || result.getRank() == 2;
  if (!isScalar && isOfColumns != getColumns())
    return emitOpError() << "has no gradient rule for a sum from " << input << " to " << result;
  if (input.getRank() < 3 || getColumns() || isScalar)
    return SmallVector<Value>{BroadcastOp::create(builder, getLoc(), input, resultGradients[0])};
  // The numbers are those of a row whose parts lie side by side.
  Value rows = BroadcastOp::create(builder, getLoc(), getTypeOfDims({{input, 0}, {result, 0}}, builder.getF32Type()),
                                   resultGradients[0]);
  return SmallVector<Value>{ReshapeOp::create(builder, getLoc(), input, rows)};
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

Gradients CrossEntropyOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  if (failed(expectFirstOnly(*this, resultGradients)))
    return failure();
  Value logits = CrossEntropyGradOp::create(builder, getLoc(), getLogits().getType(), getLogits(), getTargets(),
                                            getLogSumExp(), resultGradients[0], getSmoothingAttr());
  return SmallVector<Value>{logits, Value()};
}

/// Makes a region of arithmetic on scalars that of its gradient: its arithmetic again, and then the rules in reverse.
/// It gets the gradient of its result as one more argument, and yields that of `argument`.
static LogicalResult differentiateRegion(Region &region, Value argument) {
  Block &block = region.front();
  auto yield = cast<YieldOp>(block.getTerminator());
  Value result = block.addArgument(argument.getType(), yield.getLoc());
  OpBuilder builder(yield);
  DenseSet<Value> active{argument}; // what changes with it
  SmallVector<Operation *> forward;
  for (Operation &op : block.without_terminator())
    if (llvm::any_of(op.getOperands(), [&](Value operand) { return active.contains(operand); })) {
      forward.push_back(&op);
      if (isa<FloatType>(op.getResult(0).getType()))
        active.insert(op.getResult(0));
    }
  DenseMap<Value, Value> gradients{{yield.getOperand(0), result}};
  for (Operation *op : llvm::reverse(forward)) {
    Value known = gradients.lookup(op->getResult(0));
    if (!known)
      continue;
    auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
    if (!differentiable)
      return op->emitOpError("has no gradient rule, but the loss depends on a weight through it");
    Gradients contributions = differentiable.buildGradient(builder, known);
    if (failed(contributions))
      return failure();
    for (auto [operand, contribution] : llvm::zip_equal(op->getOperands(), *contributions))
      if (active.contains(operand)) {
        Value &sum = gradients[operand];
        sum = sum ? arith::AddFOp::create(builder, op->getLoc(), sum, contribution).getResult() : contribution;
      }
  }
  Value slope = active.contains(yield.getOperand(0)) ? gradients.lookup(argument) : Value();
  if (!slope) // the result does not depend on it
    slope = arith::ConstantOp::create(builder, yield.getLoc(), builder.getF32FloatAttr(0));
  yield->setOperand(0, slope);
  return success();
}

//===-- Attention, unfused --------------------------------------------------------------------------------------===//

template <typename Op> static LogicalResult expectUsers(Op op) {
  if (op.getKeyRows() && op.getUsers().empty())
    return op.emitOpError("has no gradient rule where keys are no neighbours and their users are not given");
  return success();
}

template <typename Op>
static Value createTransposedContext(OpBuilder &builder, Op op, Value of, Value weights, Value input) {
  return TransposedContextOp::create(builder, op.getLoc(), of.getType(), weights, input, op.getUsers(),
                                     op.getQueryStarts(), op.getQueryLengths(), op.getKeyStarts(), op.getKeyLengths(),
                                     op.getQuerySizeAttr(), op.getKeySizeAttr());
}

/// Makes `slope` of the `combine` region: its arithmetic again, and then the rules in reverse down to an argument.
static LogicalResult buildSlope(ScoresOp op, unsigned argument, Region &slope) {
  IRMapping mapping;
  op.getCombine().cloneInto(&slope, mapping);
  return differentiateRegion(slope, slope.front().getArgument(argument));
}

/// `lists` are what the side goes through whose gradient it is.
template <typename GradOp, typename Lists>
static FailureOr<Value> createScoresGrad(OpBuilder &builder, ScoresOp op, Type type, unsigned argument, Value gradient,
                                         Lists lists) {
  auto grad = GradOp::create(builder, op.getLoc(), type, gradient, op.getQuery(), op.getKey(), op.getParameters(),
                             lists, op.getQueryStarts(), op.getQueryLengths(), op.getKeyStarts(), op.getKeyLengths(),
                             op.getQuerySizeAttr(), op.getKeySizeAttr());
  if (failed(buildSlope(op, argument, grad.getSlope())))
    return failure();
  return grad.getResult();
}

/// Of scores that a region makes.
static Gradients buildCombinedGradient(OpBuilder &builder, ScoresOp op, Value gradient) {
  SmallVector<Value> gradients(op->getNumOperands());
  Type ofQuery = op.getQuery().getType();
  Value keyRows = op.getKeyRows();
  FailureOr<Value> query = createScoresGrad<ScoresGradQueryOp>(builder, op, ofQuery, 0, gradient, keyRows);
  FailureOr<Value> key =
      createScoresGrad<ScoresGradKeyOp>(builder, op, op.getKey().getType(), 1, gradient, op.getUsers());
  if (failed(query) || failed(key))
    return failure();
  gradients[0] = *query;
  gradients[1] = *key;
  unsigned first = op.getParameters().getBeginOperandIndex();
  for (auto [i, parameter] : llvm::enumerate(op.getParameters())) {
    FailureOr<Value> rows = createScoresGrad<ScoresGradQueryOp>(builder, op, ofQuery, 2 + i, gradient, keyRows);
    if (failed(rows))
      return failure();
    gradients[first + i] = SumOp::create(builder, op.getLoc(), parameter.getType(), *rows, /*columns=*/false);
  }
  return gradients;
}

// dQ = dS K, dK = dS^T Q.
Gradients ScoresOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  if (failed(expectUsers(*this)))
    return failure();
  Value gradient = resultGradients[0];
  if (!getCombine().empty())
    return buildCombinedGradient(builder, *this, gradient);
  SmallVector<Value> gradients(getNumOperands());
  gradients[0] =
      ContextOp::create(builder, getLoc(), getQuery().getType(), gradient, getKey(), getKeyRows(), getQueryStarts(),
                        getQueryLengths(), getKeyStarts(), getKeyLengths(), getQuerySizeAttr(), getKeySizeAttr());
  gradients[1] = createTransposedContext(builder, *this, getKey(), gradient, getQuery());
  return gradients;
}

// dW = dY V^T, dV = W^T dY.
Gradients ContextOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  if (failed(expectUsers(*this)))
    return failure();
  Value gradient = resultGradients[0];
  SmallVector<Value> gradients(getNumOperands());
  gradients[0] =
      ScoresOp::create(builder, getLoc(), getWeights().getType(), gradient, getValue(), getKeyRows(), getQueryStarts(),
                       getQueryLengths(), getKeyStarts(), getKeyLengths(), getQuerySizeAttr(), getKeySizeAttr());
  gradients[1] = createTransposedContext(builder, *this, getValue(), getWeights(), gradient);
  return gradients;
}

// dW = X dY^T, dX = W dY.
Gradients TransposedContextOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  if (!getUsers().empty())
    return emitOpError("has no gradient rule where keys are no neighbours");
  Value gradient = resultGradients[0];
  SmallVector<Value> gradients(getNumOperands());
  gradients[0] = ScoresOp::create(builder, getLoc(), getWeights().getType(), getInput(), gradient, /*key_rows=*/Value(),
                                  /*parameters=*/ValueRange(), /*users=*/ValueRange(), getQueryStarts(),
                                  getQueryLengths(), getKeyStarts(), getKeyLengths(), getQuerySize(), getKeySize());
  gradients[1] = ContextOp::create(builder, getLoc(), getInput().getType(), getWeights(), gradient,
                                   /*key_rows=*/Value(), getQueryStarts(), getQueryLengths(), getKeyStarts(),
                                   getKeyLengths(), getQuerySize(), getKeySize());
  return gradients;
}

Gradients MaskOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  auto scores = MaskOp::create(builder, getLoc(), getType(), resultGradients[0], getPosition(), getSequence(),
                               getKeyLengths(), builder.getF32FloatAttr(0));
  IRMapping mapping;
  getMask().cloneInto(&scores.getMask(), mapping);
  return SmallVector<Value>{scores, Value(), Value(), Value()};
}

Gradients SoftmaxOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  return SmallVector<Value>{SoftmaxGradOp::create(builder, getLoc(), getType(), getResult(), resultGradients[0])};
}

//===-- Attention -----------------------------------------------------------------------------------------------===//

template <typename GradOp>
static GradOp createAttentionGrad(OpBuilder &builder, AttentionOp op, TypeRange results, Value gradient, Value delta) {
  auto grad = GradOp::create(builder, op.getLoc(), results, op.getQuery(), op.getKey(), op.getValue(), gradient,
                             op.getLogSumExp(), delta, op.getQueryStarts(), op.getQueryLengths(), op.getKeyStarts(),
                             op.getKeyLengths(), op.getSeed(), op.getStep(), op.getHeadsAttr(), op.getScaleAttr(),
                             op.getDropoutAttr(), op.getStreamAttr(), op.getQuerySizeAttr(), op.getKeySizeAttr());
  IRMapping mapping;
  op.getMask().cloneInto(&grad.getMask(), mapping);
  op.getScore().cloneInto(&grad.getScore(), mapping);
  return grad;
}

/// Makes `gradient` the score_gradient region that belongs to `score`.
static LogicalResult buildScoreGradient(Region &score, Region &gradient) {
  if (score.empty())
    return success();
  IRMapping mapping;
  score.cloneInto(&gradient, mapping);
  return differentiateRegion(gradient, gradient.front().getArgument(0));
}

Gradients AttentionOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  if (failed(expectFirstOnly(*this, resultGradients)))
    return failure();
  Value gradient = resultGradients[0];
  Type keyType = getKey().getType();
  Value delta = AttentionDeltaOp::create(builder, getLoc(), getLogSumExp().getType(), getResult(), gradient);
  auto query = createAttentionGrad<AttentionGradQueryOp>(builder, *this, getQuery().getType(), gradient, delta);
  auto keyValue = createAttentionGrad<AttentionGradKeyValueOp>(builder, *this, {keyType, keyType}, gradient, delta);
  if (failed(buildScoreGradient(getScore(), query.getScoreGradient())))
    return failure();
  IRMapping mapping;
  query.getScoreGradient().cloneInto(&keyValue.getScoreGradient(), mapping);
  SmallVector<Value> gradients(getNumOperands());
  gradients[0] = query.getResult();
  gradients[1] = keyValue.getKeyGradient();
  gradients[2] = keyValue.getValueGradient();
  return gradients;
}
