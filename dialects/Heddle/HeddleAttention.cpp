// Attention: verifiers, canonicalization and gradients.
#include "dialects/Heddle/Pairs.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::heddle;

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
