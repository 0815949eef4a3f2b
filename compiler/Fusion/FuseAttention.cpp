// Recognises attention (3.2 of "Attention Is All You Need") written out as
//
//   merge_heads(dropout(softmax(mask(scale * split_heads(Q) split_heads(K)^T))) split_heads(V))
//
// and makes one `heddle.attention` of it, whose scores never reach memory. The scale may be missing, may stand at the
// queries, the keys or the scores, before the heads are split or after, or behind the mask; the dropout may be missing.
// The mask may not: it names the sequences. Whatever else uses the scores or the weights needs them in memory, so then
// the attention stays as it is.
#include "compiler/Fusion/FuseAttention.h"

#include "dialects/Heddle/Heddle.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

/// `value`'s op, if it is an OpTy that this value alone leaves by.
template <typename OpTy> OpTy producedFor(Value value) {
  return value.hasOneUse() ? value.getDefiningOp<OpTy>() : OpTy();
}

/// Takes a multiplication by a constant off `value` and into `scale`. The product must have no other use if
/// `exclusive`.
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

/// The matrix whose heads `value` holds, its scale moved into `scale`; null if there is none.
Value matchHeads(Value value, double &scale) {
  // Queries and keys are small, so their other uses do no harm.
  auto split = takeScale(value, scale, /*exclusive=*/false).getDefiningOp<SplitHeadsOp>();
  return split ? takeScale(split.getInput(), scale, /*exclusive=*/false) : Value();
}

struct FuseAttention : OpRewritePattern<MergeHeadsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MergeHeadsOp merge, PatternRewriter &rewriter) const override {
    auto context = producedFor<BatchMatmulOp>(merge.getInput());
    if (!context || context.getTransposeRhs())
      return failure();
    auto values = context.getRhs().getDefiningOp<SplitHeadsOp>();
    Value weights = context.getLhs();
    auto dropout = producedFor<DropoutOp>(weights);
    auto softmax = producedFor<SoftmaxOp>(dropout ? dropout.getInput() : weights);
    if (!values || !softmax)
      return failure();

    double outerScale = 1, scale = 1;
    auto mask = producedFor<MaskOp>(takeScale(softmax.getInput(), outerScale, /*exclusive=*/true));
    // A masked score stays minus infinity under a positive factor alone.
    if (!mask || !softmax.getInput().hasOneUse() || outerScale <= 0)
      return failure();
    Value scores = mask.getScores();
    auto product = producedFor<BatchMatmulOp>(takeScale(scores, scale, /*exclusive=*/true));
    if (!product || !scores.hasOneUse() || !product.getTransposeRhs())
      return failure();
    Value query = matchHeads(product.getLhs(), scale), key = matchHeads(product.getRhs(), scale);
    Value value = values.getInput();
    if (!query || !key || query.getType() != merge.getType() || key.getType() != value.getType())
      return failure();

    int64_t heads = cast<RankedTensorType>(softmax.getType()).getDimSize(0);
    auto queryType = cast<RankedTensorType>(query.getType());
    auto perHead =
        RankedTensorType::get({queryType.getDimSize(0), heads}, rewriter.getF32Type(), queryType.getEncoding());
    auto fused = AttentionOp::create(
        rewriter, merge.getLoc(), query.getType(), perHead, query, key, value, mask.getKeyRows(), mask.getQueryStarts(),
        mask.getQueryLengths(), mask.getKeyStarts(), mask.getKeyLengths(), dropout ? dropout.getSeed() : Value(),
        dropout ? dropout.getStep() : Value(), static_cast<uint64_t>(heads),
        APFloat(static_cast<float>(scale * outerScale)), dropout ? dropout.getRate() : APFloat(0.0f),
        dropout ? dropout.getStream() : 0, mask.getQuerySize(), mask.getKeySize());
    rewriter.inlineRegionBefore(mask.getMask(), fused.getMask(), fused.getMask().end());
    // What led to the merge is dead now, the mask without its region included; the driver erases it.
    rewriter.replaceOp(merge, fused.getResult());
    return success();
  }
};

struct FuseAttentionPass : PassWrapper<FuseAttentionPass, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FuseAttentionPass)

  StringRef getArgument() const override { return "heddle-fuse-attention"; }
  StringRef getDescription() const override { return "Make heddle.attention of attention written out op by op"; }
  void getDependentDialects(DialectRegistry &registry) const override { registry.insert<HeddleDialect>(); }

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FuseAttention>(&getContext());
    GreedyRewriteConfig config;
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled).enableFolding(false);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> heddle::createFuseAttentionPass() { return std::make_unique<FuseAttentionPass>(); }
void heddle::registerFuseAttentionPass() { PassRegistration<FuseAttentionPass>(); }
