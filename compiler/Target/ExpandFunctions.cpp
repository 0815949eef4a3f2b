#include "compiler/Target/ExpandFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

#include <numbers>

using namespace mlir;
using namespace mlir::heddle;

namespace {

/// Returns true for f16, bf16 and vectors of them.
bool isHalfPrecision(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isF16() || element.isBF16();
}

/// `type` with another element type: a vector of the same shape, or the element type itself for a scalar.
Type withElement(Type type, Type element) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.clone(element) : element;
}

/// Arithmetic on floats of one type.
struct Floats : ImplicitLocOpBuilder {
  Floats(Operation *op, OpBuilder &builder)
      : ImplicitLocOpBuilder(op->getLoc(), builder), type(op->getOperand(0).getType()) {}

  const llvm::fltSemantics &semantics() { return cast<FloatType>(getElementTypeOrSelf(type)).getFloatSemantics(); }
  Value constant(const APFloat &value) {
    TypedAttr attribute = FloatAttr::get(getElementTypeOrSelf(type), value);
    if (auto vector = dyn_cast<VectorType>(type))
      attribute = DenseElementsAttr::get(vector, value);
    return arith::ConstantOp::create(*this, attribute);
  }
  Value constant(double value) {
    APFloat number(value);
    bool losesInfo;
    number.convert(semantics(), APFloat::rmNearestTiesToEven, &losesInfo);
    return constant(number);
  }
  Value infinity() { return constant(APFloat::getInf(semantics())); }

  Value abs(Value x) { return math::AbsFOp::create(*this, x); }
  Value floor(Value x) { return math::FloorOp::create(*this, x); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(*this, x, y); }
  Value withSign(Value x, Value sign) { return math::CopySignOp::create(*this, x, sign); }
  Value is(Value x, arith::CmpFPredicate predicate, Value y) { return arith::CmpFOp::create(*this, predicate, x, y); }
  Value both(Value x, Value y) { return arith::AndIOp::create(*this, x, y); }
  Value either(Value x, Value y) { return arith::OrIOp::create(*this, x, y); }
  Value unlike(Value x, Value y) { return arith::XOrIOp::create(*this, x, y); }
  Value select(Value condition, Value yes, Value no) { return arith::SelectOp::create(*this, condition, yes, no); }

  Type type;
};

using Is = arith::CmpFPredicate;

/// Compares the magnitude with infinity. SPIR-V has OpIsFinite only for OpenCL, and LLVM has no such op for NVIDIA
/// GPUs.
template <typename Op, Is predicate> LogicalResult compareWithInfinity(Op op, PatternRewriter &rewriter) {
  Floats f(op, rewriter);
  rewriter.replaceOp(op, f.is(f.abs(op.getOperand()), predicate, f.infinity()));
  return success();
}

LogicalResult expandIsNormal(math::IsNormalOp op, PatternRewriter &rewriter) {
  Floats f(op, rewriter);
  Value size = f.abs(op.getOperand()), least = f.constant(APFloat::getSmallestNormalized(f.semantics()));
  rewriter.replaceOp(op, f.both(f.is(size, Is::OGE, least), f.is(size, Is::OLT, f.infinity())));
  return success();
}

/// C's pow. GLSL's pow is undefined for negative bases, and for base 0 unless the exponent is positive. LLVM has no pow
/// for NVIDIA GPUs.
LogicalResult expandPow(math::PowFOp op, PatternRewriter &rewriter) {
  Floats f(op, rewriter);
  Value x = op.getLhs(), y = op.getRhs(), size = f.abs(x);
  Value zero = f.constant(0.0), one = f.constant(1.0), infinity = f.infinity();
  Value nan = f.constant(APFloat::getNaN(f.semantics()));

  Value power = math::Exp2Op::create(f, f.mul(y, math::Log2Op::create(f, size)));
  // log2 of these bases is infinite, but not all devices guarantee that.
  Value isZero = f.is(size, Is::OEQ, zero), isInfinite = f.is(size, Is::OEQ, infinity);
  Value isFalling = f.is(y, Is::OLT, zero);
  power = f.select(f.either(isZero, isInfinite), f.select(f.unlike(isZero, isFalling), zero, infinity), power);
  power = f.select(f.is(size, Is::OEQ, one), one, power); // for infinite exponents too

  Value half = f.mul(y, f.constant(0.5));
  Value isWhole = f.is(f.floor(y), Is::OEQ, y);
  Value isOdd = f.both(isWhole, f.is(f.floor(half), Is::ONE, half));
  power = f.select(isOdd, f.withSign(power, x), power);
  Value isRoot = f.both(f.is(f.floor(y), Is::UNE, y), f.both(f.is(x, Is::OLT, zero), f.is(size, Is::OLT, infinity)));
  power = f.select(f.either(isRoot, f.is(x, Is::UNO, y)), nan, power);
  rewriter.replaceOp(op, f.select(f.either(f.is(y, Is::OEQ, zero), f.is(x, Is::OEQ, one)), one, power));
  return success();
}

LogicalResult expandCbrt(math::CbrtOp op, PatternRewriter &rewriter) {
  Floats f(op, rewriter);
  Value x = op.getOperand(), size = f.abs(x), third = f.constant(1.0 / 3);
  Value root = math::Exp2Op::create(f, f.mul(math::Log2Op::create(f, size), third));
  // One Newton step corrects the error of the power.
  Value error = arith::SubFOp::create(f, root, arith::DivFOp::create(f, size, f.mul(root, root)));
  root = arith::SubFOp::create(f, root, f.mul(error, third));
  Value isItself = f.either(f.is(size, Is::OEQ, f.constant(0.0)), f.is(size, Is::OEQ, f.infinity()));
  rewriter.replaceOp(op, f.withSign(f.select(isItself, size, root), x));
  return success();
}

/// C's fmod; the result has the dividend's sign. It is exact if the quotient is below 2^22, since devices may divide
/// with an error of 2.5 units in the last place. SPIR-V's OpFRem and LLVM's code lose the rounding error of quotient
/// times divisor. Here both are split into halves of 12 bits, whose products are exact.
LogicalResult expandRem(arith::RemFOp op, PatternRewriter &rewriter) {
  Floats f(op, rewriter);
  Value dividend = f.abs(op.getLhs()), divisor = f.abs(op.getRhs());
  Value times = f.floor(arith::DivFOp::create(f, dividend, divisor));
  Value upperTimes = f.mul(f.floor(f.mul(times, f.constant(1.0 / 4096))), f.constant(4096));
  Value lowerTimes = arith::SubFOp::create(f, times, upperTimes);
  Type integers = withElement(f.type, f.getI32Type());
  TypedAttr mask = f.getI32IntegerAttr(static_cast<int32_t>(0xFFFFF000));
  if (auto vector = dyn_cast<VectorType>(integers))
    mask = DenseElementsAttr::get(vector, ArrayRef<Attribute>(mask));
  Value bits = arith::BitcastOp::create(f, integers, divisor);
  Value upper = arith::BitcastOp::create(f, f.type, arith::AndIOp::create(f, bits, arith::ConstantOp::create(f, mask)));
  Value lower = arith::SubFOp::create(f, divisor, upper);
  Value rest = dividend;
  for (auto [left, right] : {std::pair(upperTimes, upper), std::pair(upperTimes, lower), std::pair(lowerTimes, upper),
                             std::pair(lowerTimes, lower)})
    rest = arith::SubFOp::create(f, rest, f.mul(left, right));
  // The quotient may have been rounded to a neighbouring integer.
  rest = f.select(f.is(rest, Is::OLT, f.constant(0.0)), arith::AddFOp::create(f, rest, divisor), rest);
  rest = f.select(f.is(rest, Is::OGE, divisor), arith::SubFOp::create(f, rest, divisor), rest);
  rewriter.replaceOp(op, f.withSign(f.select(f.is(dividend, Is::OLT, divisor), dividend, rest), op.getLhs()));
  return success();
}

/// GLSL's atan2 is undefined if both operands are 0.
LogicalResult expandAtan2(math::Atan2Op op, PatternRewriter &rewriter) {
  Floats f(op, rewriter);
  Value y = op.getLhs(), x = op.getRhs(), height = f.abs(y), width = f.abs(x);
  Value zero = f.constant(0.0), pi = f.constant(std::numbers::pi);
  Value angle = math::AtanOp::create(f, arith::DivFOp::create(f, height, width));
  angle = f.select(f.is(width, Is::OEQ, zero), f.constant(std::numbers::pi / 2), angle);
  angle = f.select(f.is(height, Is::OEQ, width), f.constant(std::numbers::pi / 4), angle); // infinities as well
  angle = f.select(f.is(height, Is::OEQ, zero), zero, angle);
  Value isLeft = f.is(f.withSign(f.constant(1.0), x), Is::OLT, zero); // -0 as well
  angle = f.withSign(f.select(isLeft, arith::SubFOp::create(f, pi, angle), angle), y);
  rewriter.replaceOp(op, f.select(f.is(x, Is::UNO, y), f.constant(APFloat::getNaN(f.semantics())), angle));
  return success();
}

struct InF32 : RewritePattern {
  InF32(MLIRContext *context, function_ref<bool(Operation *, FloatType)> needsF32)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context), needsF32(needsF32) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (op->getNumResults() != 1 || !isHalfPrecision(op->getResult(0).getType()))
      return failure();
    Type type = op->getResult(0).getType();
    if (!needsF32(op, cast<FloatType>(getElementTypeOrSelf(type))))
      return failure();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(isHalfPrecision(operand.getType())
                             ? arith::ExtFOp::create(rewriter, op->getLoc(),
                                                     withElement(operand.getType(), rewriter.getF32Type()), operand)
                             : operand);
    OperationState wide(op->getLoc(), op->getName(), operands, withElement(type, rewriter.getF32Type()),
                        op->getAttrs());
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, type, rewriter.create(wide)->getResult(0));
    return success();
  }
  function_ref<bool(Operation *, FloatType)> needsF32;
};

} // namespace

void heddle::computeInF32(Operation *kernel, function_ref<bool(Operation *, FloatType)> needsF32) {
  RewritePatternSet patterns(kernel->getContext());
  patterns.add<InF32>(kernel->getContext(), needsF32);
  walkAndApplyPatterns(kernel, std::move(patterns));
}

void heddle::expandFunctions(Operation *kernel) {
  RewritePatternSet patterns(kernel->getContext());
  patterns.add(compareWithInfinity<math::IsFiniteOp, Is::OLT>)
      .add(compareWithInfinity<math::IsInfOp, Is::OEQ>)
      .add(expandIsNormal)
      .add(expandPow)
      .add(expandCbrt)
      .add(expandRem)
      .add(expandAtan2);
  math::populateExpansionPatterns(patterns, {"clampf"});
  populatePolynomialApproximateErfPattern(patterns);
  populatePolynomialApproximateErfcPattern(patterns);
  walkAndApplyPatterns(kernel, std::move(patterns));
}
