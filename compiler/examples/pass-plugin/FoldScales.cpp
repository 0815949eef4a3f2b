// A plug-in with a pass of its own: it merges multiplications by numbers, and moves them behind matmuls whose result is
// multiplied anyway.
//
//   heddle-opt model.mlir --load-pass-plugin=FoldScales.so --pass-pipeline='builtin.module(fold-scales)'
//   heddle-compile model.toml -o model.heddle --load-pass-plugin=FoldScales.so --pass-after=fuse-attention:fold-scales
#include "dialects/Heddle/Heddle.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

/// A value times a number.
struct Scaled {
  Value value;
  float scale;
};

/// Matches `value` as another value times a number, in f32.
FailureOr<Scaled> matchScaled(Value value) {
  auto product = value.getDefiningOp<arith::MulFOp>();
  if (!product || !getElementTypeOrSelf(value).isF32())
    return failure();
  for (auto [factor, rest] : {std::pair(product.getRhs(), product.getLhs()), {product.getLhs(), product.getRhs()}})
    if (auto fill = factor.getDefiningOp<FillOp>()) // a tensor whose elements are all the same number
      return Scaled{rest, cast<FloatAttr>(fill.getValue()).getValue().convertToFloat()};
  return failure();
}

Value createScaled(OpBuilder &builder, Location loc, Scaled scaled) {
  Type type = scaled.value.getType();
  Value scale = FillOp::create(builder, loc, type, builder.getF32FloatAttr(scaled.scale));
  return arith::MulFOp::create(builder, loc, scaled.value, scale);
}

/// (x * a) * b is x * (a * b).
struct MergeScales : OpRewritePattern<arith::MulFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::MulFOp product, PatternRewriter &rewriter) const override {
    FailureOr<Scaled> outer = matchScaled(product);
    if (failed(outer))
      return failure();
    FailureOr<Scaled> inner = matchScaled(outer->value);
    if (failed(inner))
      return failure();
    rewriter.replaceOp(product, createScaled(rewriter, product.getLoc(), {inner->value, inner->scale * outer->scale}));
    return success();
  }
};

/// ((x * a) W) * b is (x W) * (a * b), for either operand of the matmul.
struct MoveScaleBehindProduct : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MatmulOp product, PatternRewriter &rewriter) const override {
    Operation *user = product.getResult().hasOneUse() ? *product.getResult().user_begin() : nullptr;
    if (!user || user->getNumResults() != 1 || failed(matchScaled(user->getResult(0))))
      return failure();
    for (OpOperand *factor : {&product.getLhsMutable(), &product.getRhsMutable()}) {
      FailureOr<Scaled> scaled = matchScaled(factor->get());
      if (failed(scaled))
        continue;
      rewriter.modifyOpInPlace(product, [&] { factor->set(scaled->value); });
      rewriter.setInsertionPointAfter(product);
      Value moved = createScaled(rewriter, product.getLoc(), {product.getResult(), scaled->scale});
      rewriter.replaceAllUsesExcept(product.getResult(), moved, moved.getDefiningOp());
      return success();
    }
    return failure();
  }
};

class FoldScalesPass : public PassWrapper<FoldScalesPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FoldScalesPass)

  FoldScalesPass() = default;
  FoldScalesPass(const FoldScalesPass &other) : PassWrapper(other) {} // MLIR copies the options

  StringRef getArgument() const override { return "fold-scales"; }
  StringRef getDescription() const override { return "Multiply by one number where there are two"; }

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<MergeScales>(&getContext());
    if (products)
      patterns.add<MoveScaleBehindProduct>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }

private:
  Option<bool> products{*this, "products", llvm::cl::init(true),
                        llvm::cl::desc("Move multiplications behind matrix products, too")};
};

} // namespace

extern "C" PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "FoldScales", "1", [] { PassRegistration<FoldScalesPass>(); }};
}
