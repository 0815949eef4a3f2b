#include "compiler/Target/ExpandMath.h"
#include "compiler/Target/CUDA/LowerToNvvm.h"
#include "compiler/Target/CUDA/Passes.h"
#include "compiler/Target/ExpandFunctions.h"

#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

#include <numbers>

namespace mlir::heddle {
#define GEN_PASS_DEF_EXPANDMATHPASS
#include "compiler/Target/CUDA/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

/// e^x = 2^(x log2(e)). The device's exp2 is accurate, but the rounding error of the exponent grows with x and needs a
/// correction.
LogicalResult expandExp(math::ExpOp op, PatternRewriter &rewriter) {
  Arithmetic a(op, rewriter);
  constexpr double log2e = std::numbers::log2e, high = static_cast<float>(log2e);
  // Beyond these limits the result is 0 or infinity anyway, but the correction would compute infinity - infinity.
  Value x =
      arith::MinimumFOp::create(a, arith::MaximumFOp::create(a, op.getOperand(), a.constant(-200)), a.constant(200));
  Value exponent = a.mul(x, a.constant(high));
  Value error = a.fma(x, a.constant(high), arith::NegFOp::create(a, exponent));
  error = a.fma(x, a.constant(log2e - high), error);
  Value correction = a.fma(error, a.constant(std::numbers::ln2), a.constant(1));
  rewriter.replaceOp(op, a.mul(math::Exp2Op::create(a, exponent), correction));
  return success();
}

/// Returns true if LLVM has no 16-bit code for the op on NVIDIA GPUs.
bool needsF32(Operation *op, FloatType) {
  return isa<arith::RemFOp>(op) || (isa<math::MathDialect>(op->getDialect()) &&
                                    !isa<math::AbsFOp, math::CeilOp, math::FloorOp, math::TruncOp, math::RoundOp,
                                         math::RoundEvenOp, math::CopySignOp, math::FmaOp>(op));
}

struct ExpandMathPass : mlir::heddle::impl::ExpandMathPassBase<ExpandMathPass> {
  void runOnOperation() override {
    if (failed(verifyNoTiles(getOperation())))
      return signalPassFailure();
    computeInF32(getOperation(), needsF32);
    expandFunctions(getOperation());
    expandMath(getOperation());
    RewritePatternSet patterns(&getContext());
    patterns.add(expandExp);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace
