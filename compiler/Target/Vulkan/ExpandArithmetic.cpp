#include "compiler/Target/ExpandFunctions.h"
#include "compiler/Target/Vulkan/SpirvPatterns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

LogicalResult expandTrunc(math::TruncOp op, PatternRewriter &rewriter) {
  Value x = op.getOperand();
  Value size = math::FloorOp::create(rewriter, op.getLoc(), math::AbsFOp::create(rewriter, op.getLoc(), x));
  rewriter.replaceOpWithNewOp<math::CopySignOp>(op, size, x);
  return success();
}

/// i1 as a signed number: true is -1.
LogicalResult expandSignedBoolean(arith::SIToFPOp op, PatternRewriter &rewriter) {
  if (!getElementTypeOrSelf(op.getIn()).isInteger(1))
    return failure();
  auto constant = [&](double number) -> Value {
    TypedAttr attribute = rewriter.getFloatAttr(getElementTypeOrSelf(op.getType()), number);
    if (auto vector = dyn_cast<VectorType>(op.getType()))
      attribute = DenseElementsAttr::get(vector, ArrayRef<Attribute>(attribute));
    return arith::ConstantOp::create(rewriter, op.getLoc(), attribute);
  };
  rewriter.replaceOpWithNewOp<arith::SelectOp>(op, op.getIn(), constant(-1), constant(0));
  return success();
}

/// C's remainder, which has the dividend's sign. Vulkan leaves OpSRem undefined for negative operands, so this divides
/// magnitudes as unsigned numbers. Negating -2^31 gives the same bits, which are its magnitude if read as unsigned.
LogicalResult expandSignedRemainder(arith::RemSIOp op, PatternRewriter &rewriter) {
  Location loc = op.getLoc();
  Value lhs = op.getLhs(), zero = arith::ConstantOp::create(rewriter, loc, rewriter.getZeroAttr(lhs.getType()));
  auto negative = [&](Value x) -> Value { return arith::SubIOp::create(rewriter, loc, zero, x); };
  auto isNegative = [&](Value x) -> Value {
    return arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::slt, x, zero);
  };
  auto magnitude = [&](Value x) -> Value {
    return arith::SelectOp::create(rewriter, loc, isNegative(x), negative(x), x);
  };
  Value rest = arith::RemUIOp::create(rewriter, loc, magnitude(lhs), magnitude(op.getRhs()));
  rewriter.replaceOpWithNewOp<arith::SelectOp>(op, isNegative(lhs), negative(rest), rest);
  return success();
}

/// SPIR-V has no arithmetic on i1, so it becomes logic.
template <typename Op, typename Logic> LogicalResult expandBoolean(Op op, PatternRewriter &rewriter) {
  if (!getElementTypeOrSelf(op.getType()).isInteger(1))
    return failure();
  rewriter.replaceOpWithNewOp<Logic>(op, op.getLhs(), op.getRhs());
  return success();
}

bool needsF32(Operation *op, FloatType type) {
  // These functions manipulate bits, or need more precision in intermediate results.
  if (type.isF16())
    return isa<math::TruncOp, math::RoundOp, math::CopySignOp, math::PowFOp, math::CbrtOp, math::Atan2Op, math::ErfOp,
               math::ErfcOp, arith::RemFOp>(op);
  // Devices have no bf16. Registers hold bf16 as f32 with zero lower bits, and only the ops listed here keep them zero.
  return isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) &&
         !isa<arith::ConstantOp, arith::SelectOp, arith::TruncFOp, arith::BitcastOp, arith::NegFOp, math::AbsFOp,
              arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp>(op);
}

} // namespace

void heddle::expandArithmetic(Operation *kernel) {
  computeInF32(kernel, needsF32);
  expandFunctions(kernel);

  MLIRContext *context = kernel->getContext();
  RewritePatternSet patterns(context);
  patterns.add(expandTrunc).add(expandSignedBoolean).add(expandSignedRemainder);
  patterns.add(expandBoolean<arith::AddIOp, arith::XOrIOp>)
      .add(expandBoolean<arith::SubIOp, arith::XOrIOp>)
      .add(expandBoolean<arith::MulIOp, arith::AndIOp>)
      .add(expandBoolean<arith::MinUIOp, arith::AndIOp>)
      .add(expandBoolean<arith::MaxSIOp, arith::AndIOp>)
      .add(expandBoolean<arith::MaxUIOp, arith::OrIOp>)
      .add(expandBoolean<arith::MinSIOp, arith::OrIOp>);
  arith::populateCeilFloorDivExpandOpsPatterns(patterns);
  walkAndApplyPatterns(kernel, std::move(patterns));
}
