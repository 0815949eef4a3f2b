// Collective ops: verifiers, gradients and canonicalization.
#include "dialects/Heddle/Heddle.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::heddle;

bool heddle::isCollective(Operation *op) { return isa<AllReduceOp, ReduceScatterOp, AllGatherOp>(op); }

LogicalResult AllReduceOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  llvm::append_range(types, adaptor.getInputs().getTypes());
  return success();
}

LogicalResult AllReduceOp::verify() {
  if (getInputs().empty())
    return emitOpError("expects at least one tensor");
  for (Type type : getInputs().getTypes())
    if (!cast<RankedTensorType>(type).hasStaticShape())
      return emitOpError() << "expects tensors of the same extents on all ranks, so static ones, got " << type;
  return success();
}

template <typename RowsOfRanksOp> static LogicalResult verifyLike(RowsOfRanksOp op) {
  if (op.getInputs().empty() || op.getInputs().size() != op.getLike().size())
    return op.emitOpError() << "expects at least one tensor, and a sharded variable for each, got "
                            << op.getInputs().size() << " and " << op.getLike().size();
  return success();
}

template <typename RowsOfRanksOp>
static LogicalResult verifyVariables(RowsOfRanksOp op, SymbolTableCollection &symbols) {
  for (auto [input, name] : llvm::zip_equal(op.getInputs(), op.getLike().template getAsRange<FlatSymbolRefAttr>())) {
    auto variable = symbols.lookupNearestSymbolFrom<VariableOp>(op, name);
    auto type = cast<RankedTensorType>(input.getType());
    if (!variable || !variable.getSharded() || variable.getTensorType().clone(type.getElementType()) != type)
      return op.emitOpError() << "expects " << name << " to be a sharded variable of the shape of " << type;
  }
  return success();
}

LogicalResult ReduceScatterOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                                SmallVectorImpl<Type> &types) {
  llvm::append_range(types, adaptor.getInputs().getTypes());
  return success();
}
LogicalResult ReduceScatterOp::verify() { return verifyLike(*this); }
LogicalResult ReduceScatterOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyVariables(*this, symbols);
}

LogicalResult AllGatherOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  llvm::append_range(types, adaptor.getInputs().getTypes());
  return success();
}
LogicalResult AllGatherOp::verify() { return verifyLike(*this); }
LogicalResult AllGatherOp::verifySymbolUses(SymbolTableCollection &symbols) { return verifyVariables(*this, symbols); }

/// Every rank's loss depends on the sum, so the gradients of all ranks add up.
FailureOr<SmallVector<Value>> AllReduceOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  SmallVector<Value> known = llvm::filter_to_vector(resultGradients, [](Value gradient) { return bool(gradient); });
  auto sums = AllReduceOp::create(builder, getLoc(), known);
  SmallVector<Value> gradients;
  size_t next = 0;
  for (Value gradient : resultGradients)
    gradients.push_back(gradient ? sums.getResult(next++) : Value());
  for (auto [input, gradient] : llvm::zip_equal(getInputs(), gradients))
    if (!gradient)
      gradient = FillOp::create(builder, getLoc(), input.getType(), builder.getF32FloatAttr(0));
  return gradients;
}

namespace {

/// Drops tensors whose results nobody uses, duplicates, and zeros, whose sum is zero.
struct DropFromBucket : OpRewritePattern<AllReduceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AllReduceOp op, PatternRewriter &rewriter) const override {
    llvm::SmallSetVector<Value, 8> kept;
    SmallVector<int64_t> places; // the index of each result's tensor among the kept ones, or -1
    for (auto [input, result] : llvm::zip_equal(op.getInputs(), op.getResults())) {
      bool isKept = !result.use_empty() && !isZero(input);
      if (isKept)
        kept.insert(input);
      places.push_back(isKept ? llvm::find(kept, input) - kept.begin() : -1);
    }
    if (kept.size() == op.getInputs().size())
      return failure();
    AllReduceOp fewer;
    if (!kept.empty())
      fewer = AllReduceOp::create(rewriter, op.getLoc(), kept.getArrayRef());
    SmallVector<Value> values;
    for (auto [input, place] : llvm::zip_equal(op.getInputs(), places))
      values.push_back(place < 0 ? input : fewer.getResult(place));
    rewriter.replaceOp(op, values);
    return success();
  }

  static bool isZero(Value value) {
    auto fill = value.getDefiningOp<FillOp>();
    auto number = fill ? dyn_cast<FloatAttr>(fill.getValue()) : FloatAttr();
    return number && number.getValue().isPosZero();
  }
};

/// Drops tensors whose results nobody uses.
template <typename RowsOfRanksOp> struct DropUnused : OpRewritePattern<RowsOfRanksOp> {
  using OpRewritePattern<RowsOfRanksOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(RowsOfRanksOp op, PatternRewriter &rewriter) const override {
    SmallVector<Value> kept, old;
    SmallVector<Attribute> like;
    for (auto [input, result, name] : llvm::zip_equal(op.getInputs(), op.getResults(), op.getLike()))
      if (!result.use_empty()) {
        kept.push_back(input);
        old.push_back(result);
        like.push_back(name);
      }
    if (kept.size() == op.getInputs().size())
      return failure();
    if (!kept.empty())
      rewriter.replaceAllUsesWith(
          old, RowsOfRanksOp::create(rewriter, op.getLoc(), kept, rewriter.getArrayAttr(like)).getResults());
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void ReduceScatterOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<DropUnused<ReduceScatterOp>>(context);
}

void AllGatherOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<DropUnused<AllGatherOp>>(context);
}

void AllReduceOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<DropFromBucket>(context);
}
