// Recognises attention (3.2 of "Attention Is All You Need") written out as
//
//   context(dropout(softmax(mask(scale * scores(Q, K)), sink)), V)
//
// and replaces it by one `heddle.attention`, whose scores never reach memory. The scale may be missing, or be applied
// to the queries, the keys, the scores or the masked scores. Dropout and sink may be missing, but not the mask: without it
// keys that do not exist would count. If another op uses the scores or the weights, they are needed in memory, and the
// attention stays as it is.
#include "compiler/Kernel/Fusion/Passes.h"

#include "compiler/Kernel/Fusion/Remarks.h"
#include "dialects/Heddle/Heddle.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_FUSEATTENTIONPASS
#include "compiler/Kernel/Fusion/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

constexpr StringLiteral kPass = "fuse-attention";

/// Returns the op that makes `value` if it is an OpTy and `value` has no other use, otherwise null.
template <typename OpTy> OpTy producedFor(Value value) {
  return value.hasOneUse() ? value.getDefiningOp<OpTy>() : OpTy();
}

/// If `value` is multiplied by a constant, multiplies `scale` by it and returns the other operand, otherwise `value`.
/// With `exclusive`, the multiplication must have no other use.
Value takeScale(Value value, double &scale, bool exclusive) {
  auto product = value.getDefiningOp<arith::MulFOp>();
  if (!product || (exclusive && !value.hasOneUse()))
    return value;
  for (auto [factor, rest] : {std::pair(product.getRhs(), product.getLhs()), {product.getLhs(), product.getRhs()}})
    if (auto fill = factor.getDefiningOp<FillOp>()) {
      scale *= cast<FloatAttr>(fill.getValue()).getValueAsDouble();
      return rest;
    }
  return value;
}

/// The elementwise ops between scores and mask, f(scale * scores), which no other op uses.
class ScoreArithmetic {
public:
  /// Fails if anything else is between scores and mask.
  static FailureOr<ScoreArithmetic> match(MaskOp mask) {
    ScoreArithmetic arithmetic;
    arithmetic.mask = mask;
    arithmetic.result = mask.getScores();
    if (failed(arithmetic.collect(arithmetic.result)) || !arithmetic.scores || !arithmetic.isAlone())
      return failure();
    arithmetic.argument = arithmetic.scores.getResult();
    arithmetic.takeScales();
    return arithmetic;
  }

  /// Builds the region that computes f and then multiplies by `factor`. If f is the identity, builds no region but
  /// multiplies `scale` by `factor`.
  void build(Region &region, double factor, OpBuilder &builder) {
    if (result == argument) {
      scale *= factor;
      return;
    }
    OpBuilder::InsertionGuard guard(builder);
    Location loc = mask.getLoc();
    Type f32 = builder.getF32Type(), i32 = builder.getI32Type();
    Block *block = builder.createBlock(&region, {}, {f32, i32, i32, i32}, {loc, loc, loc, loc});
    IRMapping mapping;
    mapping.map(argument, block->getArgument(0));
    for (Operation *op : ops) {
      for (Value operand : op->getOperands())
        if (!mapping.contains(operand))
          mapping.map(operand, scalarOf(operand, block, builder));
      Operation *clone = builder.clone(*op, mapping);
      for (Value value : clone->getResults())
        value.setType(getElementTypeOrSelf(value));
    }
    Value score = mapping.lookup(result);
    if (factor != 1) {
      Value number = arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(static_cast<float>(factor)));
      score = arith::MulFOp::create(builder, loc, score, number);
    }
    YieldOp::create(builder, loc, score);
  }

  ScoresOp scores;
  double scale = 1;

private:
  /// Finds the ops that make `value`, operands first.
  LogicalResult collect(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || seen.contains(op) || isIndexOrConstant(op))
      return success(op);
    seen.insert(op);
    if (auto found = dyn_cast<ScoresOp>(op)) {
      if (scores)
        return failure();
      scores = found;
      return success();
    }
    if (!OpTrait::hasElementwiseMappableTraits(op) || op->getNumResults() != 1)
      return failure();
    for (Value operand : op->getOperands())
      if (failed(collect(operand)))
        return failure();
    ops.push_back(op);
    return success();
  }

  /// Returns true for a constant, or the index of a query, key or head.
  bool isIndexOrConstant(Operation *op) {
    if (isa<FillOp, IotaOp>(op))
      return true;
    auto broadcast = dyn_cast<BroadcastOp>(op);
    return broadcast && broadcast.getInput() == mask.getPosition();
  }

  bool isAlone() const {
    return llvm::all_of(seen, [&](Operation *op) {
      return llvm::all_of(op->getUsers(), [&](Operation *user) { return user == mask || seen.contains(user); });
    });
  }

  /// Moves constant factors of the score itself into the scale.
  void takeScales() {
    while (argument != result && argument.hasOneUse()) {
      Value product = argument.getUsers().begin()->getResult(0);
      double factor = 1;
      if (takeScale(product, factor, /*exclusive=*/false) != argument)
        return;
      scale *= factor;
      llvm::erase(ops, product.getDefiningOp());
      argument = product;
    }
  }

  static Value scalarOf(Value leaf, Block *block, OpBuilder &builder) {
    if (auto fill = leaf.getDefiningOp<FillOp>())
      return arith::ConstantOp::create(builder, leaf.getLoc(), fill.getValue());
    if (auto iota = leaf.getDefiningOp<IotaOp>())
      return block->getArgument(iota.getDim() == 2 ? 2 : 3);
    return block->getArgument(1);
  }

  MaskOp mask;
  Value result, argument; // of f
  SmallVector<Operation *> ops;
  DenseSet<Operation *> seen;
};

/// Returns true if both ops work on the same pairs of queries and keys.
bool havePairsInCommon(ScoresOp scores, ContextOp context) {
  auto sequences = [](auto op) {
    return SmallVector<Value>{op.getQueryStarts(), op.getQueryLengths(), op.getKeyStarts(), op.getKeyLengths(),
                              op.getKeyRows()};
  };
  return sequences(scores) == sequences(context) && scores.getQuerySize() == context.getQuerySize() &&
         scores.getKeySize() == context.getKeySize();
}

/// Returns true if the mask belongs to these scores: it has the same sequences, and sets each excluded pair to minus
/// infinity.
bool masks(MaskOp mask, ScoresOp scores) {
  auto located = mask.getPosition().getDefiningOp<LocateOp>();
  return located && mask.getPosition() == located.getPosition() && mask.getSequence() == located.getSequence() &&
         located.getStarts() == scores.getQueryStarts() && located.getLengths() == scores.getQueryLengths() &&
         mask.getKeyLengths() == scores.getKeyLengths() && mask.getValue().isNegInfinity();
}

/// An attention kernel holds whole rows of a head in registers. Wider heads spill so much that attention with scores in
/// memory is faster. A kernel with thousands of registers also takes minutes to compile instead of seconds.
constexpr int64_t kWidestHead = 256;

/// The ops of an attention that is written out op by op and ends with `context`.
struct WrittenAttention {
  ContextOp context;
  SoftmaxOp softmax;
  DropoutOp dropout; // or null
  MaskOp mask;
  ScoreArithmetic arithmetic;
  double outerScale = 1; // applied to masked scores
  Value query, key;

  /// If a condition does not hold, sets `obstacle` to it and fails.
  static FailureOr<WrittenAttention> match(ContextOp context, StringRef &obstacle);
};

FailureOr<WrittenAttention> WrittenAttention::match(ContextOp context, StringRef &obstacle) {
  auto fail = [&](StringRef reason) {
    obstacle = reason;
    return failure();
  };
  WrittenAttention written;
  written.context = context;
  Value weights = context.getWeights();
  written.dropout = producedFor<DropoutOp>(weights);
  written.softmax = producedFor<SoftmaxOp>(written.dropout ? written.dropout.getInput() : weights);
  if (!written.softmax)
    return fail("its weights are no softmax, dropped out or not, that it alone uses");
  written.mask = producedFor<MaskOp>(takeScale(written.softmax.getInput(), written.outerScale, /*exclusive=*/true));
  if (!written.mask || !written.softmax.getInput().hasOneUse())
    return fail("the softmax is of no masked scores that it alone uses");
  // A masked score stays minus infinity only under a positive factor.
  if (written.outerScale <= 0)
    return fail("masked scores are multiplied by a factor that is not positive");
  FailureOr<ScoreArithmetic> arithmetic = ScoreArithmetic::match(written.mask);
  if (failed(arithmetic))
    return fail("what is masked is no elementwise arithmetic on one op's scores that the mask alone uses");
  written.arithmetic = *arithmetic;
  ScoresOp scores = arithmetic->scores;
  if (!masks(written.mask, scores))
    return fail("the mask is not of the sequences of the scores, or its value is not minus infinity");
  if (!havePairsInCommon(scores, context))
    return fail("scores and context are of different sequences");
  if (!scores.getCombine().empty())
    return fail("its scores are no dot products");
  if (!scores.getUsers().empty())
    return fail("its scores have lists of the queries of each key");
  // Queries and keys are small, so their other uses do no harm.
  written.query = takeScale(scores.getQuery(), written.arithmetic.scale, /*exclusive=*/false);
  written.key = takeScale(scores.getKey(), written.arithmetic.scale, /*exclusive=*/false);
  if (written.query.getType() != context.getType() || written.key.getType() != context.getValue().getType())
    return fail("its values are not as wide as its keys");
  if (cast<RankedTensorType>(written.query.getType()).getDimSize(1) > kWidestHead * scores.getType().getDimSize(1))
    return fail("its heads are wider than 256 columns, more than registers hold");
  return written;
}

struct FuseAttention : OpRewritePattern<ContextOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ContextOp context, PatternRewriter &rewriter) const override {
    StringRef obstacle;
    FailureOr<WrittenAttention> written = WrittenAttention::match(context, obstacle);
    if (failed(written))
      return rewriter.notifyMatchFailure(context, obstacle);
    auto &[_, softmax, dropout, mask, arithmetic, outerScale, query, key] = *written;
    ScoresOp scores = arithmetic.scores;
    Value value = context.getValue();

    int64_t heads = scores.getType().getDimSize(1);
    auto queryType = cast<RankedTensorType>(query.getType());
    auto perHead =
        RankedTensorType::get({queryType.getDimSize(0), heads}, rewriter.getF32Type(), queryType.getEncoding());
    auto fused = AttentionOp::create(
        rewriter, context.getLoc(), query.getType(), perHead, query, key, value, scores.getKeyRows(), softmax.getSink(),
        /*part_keys=*/0, scores.getQueryStarts(), scores.getQueryLengths(), scores.getKeyStarts(),
        scores.getKeyLengths(), dropout ? dropout.getSeed() : Value(), dropout ? dropout.getStep() : Value(),
        static_cast<uint64_t>(heads), APFloat(1.0f), dropout ? dropout.getRate() : APFloat(0.0f),
        dropout ? dropout.getStream() : 0, scores.getQuerySize(), scores.getKeySize());
    arithmetic.build(fused.getScore(), outerScale, rewriter);
    fused.setScale(APFloat(static_cast<float>(arithmetic.scale)));
    rewriter.inlineRegionBefore(mask.getMask(), fused.getMask(), fused.getMask().end());
    remarkFused(kPass, context, dropout ? "scores, mask, softmax, dropout, context" : "scores, mask, softmax, context",
                "attention");
    // The ops that led here are dead now, including the mask, which has lost its region. The driver erases them.
    rewriter.replaceOp(context, fused.getResult());
    return success();
  }
};

struct FuseAttentionPass : mlir::heddle::impl::FuseAttentionPassBase<FuseAttentionPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FuseAttention>(&getContext());
    GreedyRewriteConfig config;
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled).enableFolding(false);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      return signalPassFailure();
    if (wantsRemarks(&getContext()))
      getOperation()->walk([&](ContextOp context) {
        StringRef obstacle;
        if (failed(WrittenAttention::match(context, obstacle)))
          remarkMissed(kPass, context, "context", obstacle);
      });
  }
};

} // namespace
