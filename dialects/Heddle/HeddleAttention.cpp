// Attention and the ops of its unfused form (scores, mask, softmax, context): verifiers, canonicalization and
// gradients.
#include "dialects/Heddle/Checks.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::heddle;

/// Fails unless the region is elementwise arithmetic on scalars that yields an f32.
static LogicalResult verifyElementwiseRegion(Operation *op, Region &region, StringRef name) {
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

/// Fails unless the number of heads of the keys divides `heads`, the queries' number.
static LogicalResult expectHeadsOfKeys(Operation *op, RankedTensorType queries, RankedTensorType keys, int64_t heads) {
  if (failed(expectStaticColumns(op, keys)))
    return failure();
  int64_t width = queries.getDimSize(1) / heads, ofKeys = keys.getDimSize(1) / width;
  if (keys.getDimSize(1) % width == 0 && ofKeys > 0 && heads % ofKeys == 0)
    return success();
  return op->emitOpError() << "expects keys with a number of heads of " << width << " columns that divides " << heads
                           << ", the number of the queries' heads, got " << queries << " and " << keys;
}

/// Fails unless `keyRows` is null or has a row of indices for each sequence.
static LogicalResult verifyKeyRows(Operation *op, Value keyRows, Value keyStarts) {
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

/// Turns a region of arithmetic on scalars into its gradient: the same arithmetic, and then the gradient rules in
/// reverse. The region takes the gradient of its result as one more argument, and yields the gradient of `argument`.
static LogicalResult differentiateRegion(Region &region, Value argument) {
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

/// The mask region takes a query and a key index and yields true if the pair counts.
static LogicalResult verifyMaskRegion(Operation *op, Region &mask) {
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

/// Fails unless `sink`, if there is one, has a number for each head.
static LogicalResult verifySink(Operation *op, Value sink, int64_t heads) {
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

/// The score region takes a score, two indices and the head, and yields a score. `score_gradient` takes the gradient of
/// that score as well.
static LogicalResult verifyScoreRegion(Operation *op, Region &score, bool gradient) {
  if (score.empty())
    return success();
  SmallVector<Type> expected{Float32Type::get(op->getContext())};
  expected.append(3, IntegerType::get(op->getContext(), 32));
  if (gradient)
    expected.push_back(expected.front());
  Block &block = score.front();
  StringRef name = gradient ? "score_gradient" : "score";
  if (!llvm::equal(block.getArgumentTypes(), expected))
    return op->emitOpError() << "expects its " << name
                             << " region to take an f32 and three i32: scaled score, query index, key index, head"
                             << (gradient ? ", and an f32: the gradient" : "");
  return verifyElementwiseRegion(op, score, name);
}

template <typename AttentionLike> static LogicalResult verifyAttention(AttentionLike op) {
  RankedTensorType query = typeOf(op.getQuery()), key = typeOf(op.getKey()), value = typeOf(op.getValue());
  int64_t heads = op.getHeads();
  if (failed(expectStaticColumns(op, query)) || failed(expectSameDim(op, "width", {key, 1}, {{value, 1}})) ||
      failed(expectSameDim(op, "number of keys", {key, 0}, {{value, 0}})))
    return failure();
  if (heads < 1 || query.getDimSize(1) % heads != 0)
    return op.emitOpError() << "expects 'heads' to divide the width " << query.getDimSize(1) << ", got " << heads;
  if (failed(expectHeadsOfKeys(op, query, key, heads)))
    return failure();
  DimOf sequences{typeOf(op.getQueryStarts()), 0};
  if (failed(expectSameDim(
          op, "number of sequences", sequences,
          {{typeOf(op.getQueryLengths()), 0}, {typeOf(op.getKeyStarts()), 0}, {typeOf(op.getKeyLengths()), 0}})))
    return failure();
  if (failed(expectRate(op, "dropout", op.getDropout())))
    return failure();
  if (!op.getDropout().isZero() != static_cast<bool>(op.getSeed()) || !op.getSeed() != !op.getStep())
    return op.emitOpError("expects seed and step if and only if 'dropout' is above 0");
  if (failed(verifyScoreRegion(op, op.getScore(), /*gradient=*/false)))
    return failure();
  return verifyMaskRegion(op, op.getMask());
}

/// Fails unless `perHead` is a tensor<TxH> for a tensor<TxD> with H heads.
static LogicalResult expectPerHead(Operation *op, StringRef what, RankedTensorType perHead, RankedTensorType tokens,
                                   int64_t heads) {
  if (sameDim({perHead, 0}, {tokens, 0}) && perHead.getDimSize(1) == heads)
    return success();
  return op->emitOpError() << "expects " << what << " to have a row for each of " << tokens << " and " << heads
                           << " columns, got " << perHead;
}

/// Returns true if the types differ at most in their element type: operands may have fewer bits than results.
static bool sameButBits(Value result, Value factor) {
  return typeOf(result).clone(typeOf(factor).getElementType()) == factor.getType();
}

/// Returns a type with the columns of one part, given that of all parts.
static RankedTensorType partOf(RankedTensorType type, int64_t parts) {
  return type.clone(ArrayRef<int64_t>{type.getDimSize(0), type.getDimSize(1) / parts});
}

/// Fails unless attention to parts of the keys has a query for each sequence, and nothing that knows a key's index.
static LogicalResult verifyKeyParts(AttentionOp op) {
  int64_t columns = typeOf(op.getQuery()).getDimSize(1), ofResult = typeOf(op.getResult()).getDimSize(1);
  if (static_cast<int64_t>(op.getPartKeys()) < 1 || ofResult % columns != 0)
    return op.emitOpError() << "expects parts of at least one key, and a result with the query's columns for each part";
  if (!op.getQuerySize().empty() || op.getSink() || op.getSeed() || !op.getMask().empty())
    return op.emitOpError(
        "expects one query for each sequence, and neither a sink nor dropout nor a mask, if its keys are "
        "in parts");
  if (!op.getScore().empty() &&
      llvm::any_of(op.getScore().getArguments().slice(1, 2), [](Value index) { return !index.use_empty(); }))
    return op.emitOpError("expects scores that depend on no index if its keys are in parts");
  return success();
}

LogicalResult AttentionOp::verify() {
  if (failed(verifyAttention(*this)) || failed(verifyKeyRows(*this, getKeyRows(), getKeyStarts())))
    return failure();
  int64_t parts = 1;
  if (getPartKeys() != 0) {
    if (failed(verifyKeyParts(*this)))
      return failure();
    parts = typeOf(getResult()).getDimSize(1) / typeOf(getQuery()).getDimSize(1);
  }
  if (partOf(typeOf(getResult()), parts).clone(typeOf(getQuery()).getElementType()) != getQuery().getType())
    return emitOpError() << "expects a result of the query's type " << getQuery().getType() << ", got "
                         << getResult().getType();
  if (failed(verifySink(*this, getSink(), static_cast<int64_t>(getHeads()))))
    return failure();
  return expectPerHead(*this, "log_sum_exp", typeOf(getLogSumExp()), typeOf(getQuery()),
                       static_cast<int64_t>(getHeads()) * parts);
}

LogicalResult MergePartsOp::verify() {
  RankedTensorType parts = typeOf(getParts()), logSumExp = typeOf(getLogSumExp()), result = typeOf(getResult());
  auto heads = static_cast<int64_t>(getHeads());
  if (failed(expectStaticColumns(*this, parts)) || failed(expectStaticColumns(*this, result)))
    return failure();
  if (heads < 1 || result.getDimSize(1) % heads != 0 || parts.getDimSize(1) % result.getDimSize(1) != 0 ||
      static_cast<int64_t>(getPartKeys()) < 1)
    return emitOpError() << "expects heads that divide the columns of " << result
                         << ", and these columns for each part of " << parts;
  if (failed(expectSameDim(*this, "number of queries", {result, 0}, {{parts, 0}})) ||
      failed(expectSameDim(*this, "number of sequences", {typeOf(getQueryStarts()), 0},
                           {{typeOf(getQueryLengths()), 0}, {typeOf(getKeyLengths()), 0}})) ||
      failed(verifySink(*this, getSink(), heads)))
    return failure();
  return expectPerHead(*this, "log_sum_exp", logSumExp, result, heads * (parts.getDimSize(1) / result.getDimSize(1)));
}

namespace {

/// Drops a score region that yields its score unchanged or times a constant. The constant moves into the scale.
struct SimplifyScore : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AttentionOp op, PatternRewriter &rewriter) const override {
    if (op.getScore().empty())
      return failure();
    Block &block = op.getScore().front();
    Value result = block.getTerminator()->getOperand(0), score = block.getArgument(0);
    double scale = op.getScale().convertToDouble();
    if (auto product = result.getDefiningOp<arith::MulFOp>())
      for (auto [x, y] : {std::pair(product.getLhs(), product.getRhs()), {product.getRhs(), product.getLhs()}})
        if (FloatAttr factor; x == score && matchPattern(y, m_Constant(&factor))) {
          scale *= factor.getValueAsDouble();
          result = score;
        }
    if (result != score)
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      rewriter.eraseBlock(&block);
      op.setScale(APFloat(static_cast<float>(scale)));
    });
    return success();
  }
};

} // namespace

namespace {

/// Drops a mask that lets every pair count.
struct DropFullMask : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AttentionOp op, PatternRewriter &rewriter) const override {
    if (op.getMask().empty() || !matchPattern(op.getMask().front().getTerminator()->getOperand(0), m_One()))
      return failure();
    rewriter.modifyOpInPlace(op, [&] { rewriter.eraseBlock(&op.getMask().front()); });
    return success();
  }
};

} // namespace

void AttentionOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<SimplifyScore, DropFullMask>(context);
}

/// Returns no operands if sequences have one query each: attention then multiplies matrices by vectors.
template <typename AttentionLike>
static SmallVector<OpOperand *> getProductOperandsOf(AttentionLike attention, ArrayRef<OpOperand *> factors) {
  if (attention.getQuerySize().empty())
    return {};
  return llvm::to_vector(factors);
}

SmallVector<OpOperand *> AttentionOp::getProductOperands() {
  if (getKeyRows()) // gathered rows cannot be fragments
    return {};
  return getProductOperandsOf(*this, {&getQueryMutable(), &getKeyMutable(), &getValueMutable()});
}
SmallVector<OpOperand *> AttentionGradQueryOp::getProductOperands() {
  return getProductOperandsOf(*this, {&getQueryMutable(), &getKeyMutable(), &getValueMutable(), &getGradientMutable()});
}
SmallVector<OpOperand *> AttentionGradKeyValueOp::getProductOperands() {
  return getProductOperandsOf(*this, {&getQueryMutable(), &getKeyMutable(), &getValueMutable(), &getGradientMutable()});
}

template <typename AttentionLike> static int64_t getHeadWidthOf(AttentionLike attention) {
  return cast<RankedTensorType>(attention.getQuery().getType()).getDimSize(1) / attention.getHeads();
}

std::optional<int64_t> AttentionOp::getHeadWidth() { return getHeadWidthOf(*this); }

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

/// Fills `gradient` with the score_gradient region for `score`.
static LogicalResult buildScoreGradient(Region &score, Region &gradient) {
  if (score.empty())
    return success();
  IRMapping mapping;
  score.cloneInto(&gradient, mapping);
  return differentiateRegion(gradient, gradient.front().getArgument(0));
}

/// A sink is a score whose value is zero: the gradient of each query's is -P * delta, with its probability P.
static Value buildSinkGradient(OpBuilder &builder, AttentionOp op, Value delta) {
  Location loc = op.getLoc();
  Type perHead = delta.getType();
  Value sinks = BroadcastOp::create(builder, loc, perHead, op.getSink());
  Value difference = arith::SubFOp::create(builder, loc, sinks, op.getLogSumExp());
  Value product = arith::MulFOp::create(builder, loc, math::ExpOp::create(builder, loc, difference), delta);
  Value sum = SumOp::create(builder, loc, op.getSink().getType(), product, /*columns=*/false);
  return arith::NegFOp::create(builder, loc, sum);
}

Gradients AttentionOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  if (failed(expectFirstOnly(*this, resultGradients)))
    return failure();
  if (getKeyRows())
    return emitOpError("with key_rows has no gradient");
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
  if (getSink())
    gradients[getSinkMutable()[0].getOperandNumber()] = buildSinkGradient(builder, *this, delta);
  return gradients;
}

LogicalResult AttentionDeltaOp::verify() {
  RankedTensorType gradient = typeOf(getGradient());
  int64_t heads = typeOf(getResult()).getDimSize(1);
  if (heads < 1 || gradient.getDimSize(1) % heads != 0)
    return emitOpError() << "expects a number of heads that divides the width of " << gradient << ", got " << heads;
  return expectPerHead(*this, "the result", typeOf(getResult()), gradient, heads);
}

template <typename GradOp> static LogicalResult verifyAttentionGrad(GradOp op) {
  if (failed(verifyAttention(op)) || failed(verifyScoreRegion(op, op.getScoreGradient(), /*gradient=*/true)))
    return failure();
  if (op.getScore().empty() != op.getScoreGradient().empty())
    return op.emitOpError("expects a score_gradient region if and only if there is a score region");
  RankedTensorType query = typeOf(op.getQuery());
  if (op.getGradient().getType() != query)
    return op.emitOpError() << "expects the gradient to be of the query's type " << query << ", got "
                            << op.getGradient().getType();
  if (failed(expectPerHead(op, "log_sum_exp", typeOf(op.getLogSumExp()), query, op.getHeads())))
    return failure();
  return expectPerHead(op, "delta", typeOf(op.getDelta()), query, op.getHeads());
}

LogicalResult AttentionGradQueryOp::verify() {
  if (failed(verifyAttentionGrad(*this)))
    return failure();
  if (!sameButBits(getResult(), getQuery()))
    return emitOpError("expects a result of the query's type");
  return success();
}

std::optional<int64_t> AttentionGradQueryOp::getHeadWidth() { return getHeadWidthOf(*this); }

LogicalResult AttentionGradKeyValueOp::verify() {
  if (failed(verifyAttentionGrad(*this)))
    return failure();
  if (!sameButBits(getKeyGradient(), getKey()) || !sameButBits(getValueGradient(), getKey()))
    return emitOpError("expects results of the key's type");
  return success();
}

std::optional<int64_t> AttentionGradKeyValueOp::getHeadWidth() { return getHeadWidthOf(*this); }
