// The ops of unfused attention (scores, mask, softmax, context): verifiers and gradients.
#include "dialects/Heddle/Pairs.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::heddle;

LogicalResult heddle::verifyElementwiseRegion(Operation *op, Region &region, StringRef name) {
  Block &block = region.front();
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || yield.getOperandTypes() != ArrayRef<Type>{Float32Type::get(op->getContext())})
    return op->emitOpError() << "expects its " << name << " region to yield an f32";
  for (Operation &inner : block.without_terminator())
    if (!isa<arith::ConstantOp>(inner) && !OpTrait::hasElementwiseMappableTraits(&inner))
      return op->emitOpError() << "expects elementwise arithmetic in its " << name << " region, not '"
                               << inner.getName() << "'";
  return success();
}

LogicalResult heddle::expectHeadsOfKeys(Operation *op, RankedTensorType queries, RankedTensorType keys, int64_t heads) {
  if (failed(expectStaticColumns(op, keys)))
    return failure();
  int64_t width = queries.getDimSize(1) / heads, ofKeys = keys.getDimSize(1) / width;
  if (keys.getDimSize(1) % width == 0 && ofKeys > 0 && heads % ofKeys == 0)
    return success();
  return op->emitOpError() << "expects keys with a number of heads of " << width << " columns that divides " << heads
                           << ", the number of the queries' heads, got " << queries << " and " << keys;
}

LogicalResult heddle::verifyKeyRows(Operation *op, Value keyRows, Value keyStarts) {
  if (!keyRows)
    return success();
  if (failed(expectStaticColumns(op, typeOf(keyRows))))
    return failure();
  return expectSameDim(op, "number of sequences", {typeOf(keyStarts), 0}, {{typeOf(keyRows), 0}});
}

/// Fails unless `users` is empty or has, for each row of `keys`: the query rows that have it as a key, its index among
/// the keys of each, and the number of these queries.
static LogicalResult verifyUsers(Operation *op, ValueRange users, StringRef querySize, RankedTensorType keys) {
  if (users.empty())
    return success();
  auto isI32 = [](RankedTensorType type, int64_t rank) {
    return type.getElementType().isInteger(32) && type.getRank() == rank;
  };
  if (users.size() != 3 || !isI32(typeOf(users[0]), 2) || !isI32(typeOf(users[1]), 2) || !isI32(typeOf(users[2]), 1))
    return op->emitOpError()
           << "expects users as rows of queries and numbers of keys, matrices of i32, and their number, a "
           << "vector of i32";
  if (!querySize.empty())
    return op->emitOpError()
           << "expects queries that are alone in their sequences where keys have users, but their sequences "
           << "are as long as '" << querySize << "'";
  if (failed(expectStaticColumns(op, typeOf(users[0]))) ||
      failed(expectSameDim(op, "number of users", {typeOf(users[0]), 1}, {{typeOf(users[1]), 1}})))
    return failure();
  return expectSameDim(op, "number of rows of keys", {keys, 0},
                       {{typeOf(users[0]), 0}, {typeOf(users[1]), 0}, {typeOf(users[2]), 0}});
}

/// Only the number of queries is dynamic in scores.
static LogicalResult verifyScores(Operation *op, RankedTensorType scores) {
  if (!scores.isDynamicDim(1) && !scores.isDynamicDim(2))
    return success();
  return op->emitOpError() << "expects a static number of heads and of keys, got " << scores;
}

/// Fails unless `scores` has a row for each row of `queries`, and heads that fit the columns of `queries` and `keys`.
template <typename PairsOp>
static LogicalResult verifyPairs(PairsOp op, RankedTensorType scores, RankedTensorType queries, RankedTensorType keys) {
  if (failed(verifyScores(op, scores)) || failed(expectStaticColumns(op, queries)) ||
      failed(expectSameDim(op, "number of queries", {queries, 0}, {{scores, 0}})))
    return failure();
  if (queries.getDimSize(1) % scores.getDimSize(1) != 0)
    return op.emitOpError() << "expects heads that divide the width of " << queries << ", got " << scores;
  if (failed(expectHeadsOfKeys(op, queries, keys, scores.getDimSize(1))))
    return failure();
  return expectSameDim(
      op, "number of sequences", {typeOf(op.getQueryStarts()), 0},
      {{typeOf(op.getQueryLengths()), 0}, {typeOf(op.getKeyStarts()), 0}, {typeOf(op.getKeyLengths()), 0}});
}

/// The region takes elements of the query, the key and the parameters, and with `gradient` also the score's gradient.
template <typename ScoresLike>
static LogicalResult verifyCombination(ScoresLike op, Region &region, StringRef name, bool gradient) {
  if (failed(expectSameDim(op, "width", {typeOf(op.getQuery()), 1}, {{typeOf(op.getKey()), 1}})))
    return failure();
  for (Value parameter : op.getParameters())
    if (failed(expectSameDim(op, "width", {typeOf(op.getQuery()), 1}, {{typeOf(parameter), 0}})))
      return failure();
  SmallVector<Type> expected(2 + op.getParameters().size() + (gradient ? 1 : 0), Float32Type::get(op.getContext()));
  Block &block = region.front();
  if (!llvm::equal(block.getArgumentTypes(), expected))
    return op.emitOpError() << "expects its " << name << " region to take an f32 of the query, of the key"
                            << (gradient ? ", of each parameter and the gradient" : " and of each parameter");
  return verifyElementwiseRegion(op, region, name);
}

LogicalResult ScoresOp::verify() {
  if (failed(verifyKeyRows(*this, getKeyRows(), getKeyStarts())) ||
      failed(verifyUsers(*this, getUsers(), getQuerySize(), typeOf(getKey()))) ||
      failed(verifyPairs(*this, getType(), typeOf(getQuery()), typeOf(getKey()))))
    return failure();
  if (getCombine().empty())
    return getParameters().empty() ? success() : emitOpError("expects parameters beside a combine region alone");
  if (getKeyRows() && !getQuerySize().empty())
    return emitOpError(
        "expects queries that are alone in their sequences where a region combines them with keys of lists");
  return verifyCombination(*this, getCombine(), "combine", /*gradient=*/false);
}

LogicalResult heddle::differentiateRegion(Region &region, Value argument) {
  Block &block = region.front();
  auto yield = cast<YieldOp>(block.getTerminator());
  Value result = block.addArgument(argument.getType(), yield.getLoc());
  OpBuilder builder(yield);
  DenseSet<Value> active{argument}; // the values that depend on `argument`
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
  if (!slope) // the result does not depend on `argument`
    slope = arith::ConstantOp::create(builder, yield.getLoc(), builder.getF32FloatAttr(0));
  yield->setOperand(0, slope);
  return success();
}

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

/// Fills `slope` from the `combine` region: a copy of its arithmetic, then the gradient rules in reverse, down to
/// `argument`.
static LogicalResult buildSlope(ScoresOp op, unsigned argument, Region &slope) {
  IRMapping mapping;
  op.getCombine().cloneInto(&slope, mapping);
  return differentiateRegion(slope, slope.front().getArgument(argument));
}

/// `lists` are key rows for the gradient of queries and parameters, and users for the gradient of keys.
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

/// The gradients of scores that a region computes.
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

template <typename GradOp> static LogicalResult verifyScoresGrad(GradOp op, Value of) {
  if (failed(verifyPairs(op, typeOf(op.getGradient()), typeOf(op.getQuery()), typeOf(op.getKey()))))
    return failure();
  if (op.getType() != of.getType())
    return op.emitOpError() << "expects a result of the type " << of.getType() << ", got " << op.getType();
  return verifyCombination(op, op.getSlope(), "slope", /*gradient=*/true);
}

LogicalResult ScoresGradQueryOp::verify() {
  if (failed(verifyKeyRows(*this, getKeyRows(), getKeyStarts())))
    return failure();
  return verifyScoresGrad(*this, getQuery());
}

LogicalResult ScoresGradKeyOp::verify() {
  if (failed(verifyUsers(*this, getUsers(), getQuerySize(), typeOf(getKey()))))
    return failure();
  return verifyScoresGrad(*this, getKey());
}

LogicalResult ContextOp::verify() {
  if (failed(verifyKeyRows(*this, getKeyRows(), getKeyStarts())) ||
      failed(verifyUsers(*this, getUsers(), getQuerySize(), typeOf(getValue()))))
    return failure();
  return verifyPairs(*this, typeOf(getWeights()), typeOf(getResult()), typeOf(getValue()));
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

LogicalResult TransposedContextOp::verify() {
  if (failed(verifyUsers(*this, getUsers(), getQuerySize(), typeOf(getResult()))))
    return failure();
  return verifyPairs(*this, typeOf(getWeights()), typeOf(getInput()), typeOf(getResult()));
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

LogicalResult heddle::verifyMaskRegion(Operation *op, Region &mask) {
  if (mask.empty())
    return success();
  Block &block = mask.front();
  if (block.getNumArguments() != 2 || !llvm::all_of(block.getArgumentTypes(), [](Type t) { return t.isInteger(32); }))
    return op->emitOpError("expects its mask region to take two i32: query index and key index");
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || yield.getNumOperands() != 1 || !yield.getOperand(0).getType().isInteger(1))
    return op->emitOpError("expects its mask region to yield an i1");
  return success();
}

LogicalResult MaskOp::verify() {
  if (failed(verifyScores(*this, typeOf(getScores()))) ||
      failed(expectSameDim(*this, "number of queries", {typeOf(getScores()), 0}, {{typeOf(getPosition()), 0}})))
    return failure();
  return verifyMaskRegion(*this, getMask());
}

Gradients MaskOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  auto scores = MaskOp::create(builder, getLoc(), getType(), resultGradients[0], getPosition(), getSequence(),
                               getKeyLengths(), builder.getF32FloatAttr(0));
  IRMapping mapping;
  getMask().cloneInto(&scores.getMask(), mapping);
  return SmallVector<Value>{scores, Value(), Value(), Value()};
}

LogicalResult heddle::verifySink(Operation *op, Value sink, int64_t heads) {
  if (!sink || typeOf(sink).getShape() == ArrayRef<int64_t>{heads})
    return success();
  return op->emitOpError() << "expects a sink for each of " << heads << " heads, got " << sink.getType();
}

LogicalResult SoftmaxOp::verify() { return verifySink(*this, getSink(), typeOf(getInput()).getDimSize(1)); }

// The gradients of a row's scores and of its sink add up to zero.
Gradients SoftmaxOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  Value scores = SoftmaxGradOp::create(builder, getLoc(), getType(), getResult(), resultGradients[0]);
  if (!getSink())
    return SmallVector<Value>{scores};
  auto perHead = RankedTensorType::get(getType().getShape().drop_back(), builder.getF32Type(), getType().getEncoding());
  Value ofRows = SumOp::create(builder, getLoc(), perHead, scores, /*columns=*/true);
  Value sum = SumOp::create(builder, getLoc(), getSink().getType(), ofRows, /*columns=*/false);
  return SmallVector<Value>{scores, arith::NegFOp::create(builder, getLoc(), sum)};
}
