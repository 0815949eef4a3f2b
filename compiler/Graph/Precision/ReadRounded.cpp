// If a value is rounded for a matmul and other ops read it in f32, it is in memory twice:
//
//   r = truncf g                               r = truncf g
//   dw = matmul x^T, r                         dw = matmul x^T, r
//   db = sum rows g                     =>     db = sum rows (extf r)
//
// A bias is a row of the weight whose input is 1, so its gradient may be computed from the same rounded values as the
// weight's. The same holds for the dot products of attention's result and its gradient: both are matmul operands
// elsewhere. The rounded value also shows whether a ReLU let a number through: the next layer has read the rounded
// value.
#include "compiler/Graph/Precision/Passes.h"

#include "dialects/Heddle/Heddle.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_READROUNDEDPASS
#include "compiler/Graph/Precision/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

/// Returns true if the op compares with zero. Rounding keeps a number's sign, and only the smallest numbers become
/// zero.
bool isComparisonWithZero(Operation *op) {
  auto comparison = dyn_cast<arith::CmpFOp>(op);
  auto fill = comparison ? comparison.getRhs().getDefiningOp<FillOp>() : FillOp();
  auto value = fill ? dyn_cast<FloatAttr>(fill.getValue()) : FloatAttr();
  return value && value.getValue().isZero();
}

bool mayReadRounded(Operation *op) {
  if (auto sum = dyn_cast<SumOp>(op))
    return !sum.getColumns();
  return isa<AttentionDeltaOp>(op) || isComparisonWithZero(op);
}

struct ReadRoundedPass : mlir::heddle::impl::ReadRoundedPassBase<ReadRoundedPass> {
  void runOnOperation() override {
    SmallVector<arith::TruncFOp> roundings;
    getOperation().walk([&](arith::TruncFOp rounding) {
      if (isa<RankedTensorType>(rounding.getType()))
        roundings.push_back(rounding);
    });
    for (arith::TruncFOp rounding : roundings)
      for (OpOperand &use : llvm::make_early_inc_range(rounding.getIn().getUses())) {
        Operation *reader = use.getOwner();
        if (!mayReadRounded(reader) || !rounding->isBeforeInBlock(reader))
          continue;
        OpBuilder builder(reader);
        use.set(arith::ExtFOp::create(builder, rounding.getLoc(), use.get().getType(), rounding.getOut()));
      }
  }
};

} // namespace
