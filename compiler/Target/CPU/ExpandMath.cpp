#include "compiler/Target/ExpandMath.h"
#include "compiler/Target/CPU/Passes.h"
#include "compiler/Target/ExpandFunctions.h"

#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

#include <numbers>

namespace mlir::heddle {
#define GEN_PASS_DEF_EXPANDCPUMATHPASS
#include "compiler/Target/CPU/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

/// `type` with elements of i32: a vector or a scalar.
Type integersOf(Type type, OpBuilder &b) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? Type(vector.clone(b.getI32Type())) : b.getI32Type();
}

Value integer(Arithmetic &a, int32_t value) {
  TypedAttr attribute = a.getI32IntegerAttr(value);
  if (auto vector = dyn_cast<VectorType>(integersOf(a.type, a)))
    attribute = DenseElementsAttr::get(vector, ArrayRef<Attribute>(attribute));
  return arith::ConstantOp::create(a, attribute);
}

/// 2^n for integers n from -126 to 127, by setting the exponent bits.
Value powerOfTwo(Arithmetic &a, Value n) {
  Value exponent = arith::ShLIOp::create(a, arith::AddIOp::create(a, n, integer(a, 127)), integer(a, 23));
  return arith::BitcastOp::create(a, a.type, exponent);
}

/// 2^n e^r for integer n and |r| <= ln(2) / 2, by Cephes' polynomial (expf.c, with an error of 2e-7). 2^n is applied as
/// two powers of two, because 2^128 is not an f32 even if 2^128 e^r is.
Value scaledExponential(Arithmetic &a, Value n, Value r) {
  Value sum = a.polynomial(
      r, {1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1});
  Value power = arith::AddFOp::create(a, a.fma(sum, a.mul(r, r), r), a.constant(1));
  Value whole = arith::FPToSIOp::create(a, integersOf(a.type, a), n);
  Value half = arith::ShRSIOp::create(a, whole, integer(a, 1));
  power = a.mul(power, powerOfTwo(a, half));
  return a.mul(power, powerOfTwo(a, arith::SubIOp::create(a, whole, half)));
}

/// Clamps x to [-limit, limit]. Beyond the limits an exponential is 0 or infinity. NaN stays NaN.
Value clamp(Arithmetic &a, Value x, double limit) {
  return arith::MinimumFOp::create(a, arith::MaximumFOp::create(a, x, a.constant(-limit)), a.constant(limit));
}

/// 2^x by Cephes' polynomial for the fraction (exp2f.c, with an error of 2e-7), to whose exponent the integer is added.
/// Powers below 2^-126 become zero: their exponent bits are zero, and kernels take denormals as zero. From 2^128 on they
/// are infinity.
Value quickPowerOfTwo(Arithmetic &a, Value x) {
  x = arith::MinimumFOp::create(a, arith::MaximumFOp::create(a, x, a.constant(-127)), a.constant(128));
  Value n = math::RoundEvenOp::create(a, x);
  Value power = a.polynomial(arith::SubFOp::create(a, x, n),
                             {1.535336188319500e-4, 1.339887440266574e-3, 9.618437357674640e-3, 5.550332471162809e-2,
                              2.402264791363012e-1, 6.931472028550421e-1, 1});
  Type integers = integersOf(a.type, a);
  Value exponent = arith::ShLIOp::create(a, arith::FPToSIOp::create(a, integers, n), integer(a, 23));
  Value bits = arith::AddIOp::create(a, arith::BitcastOp::create(a, integers, power), exponent);
  return arith::BitcastOp::create(a, a.type, bits);
}

LogicalResult expandExp2(math::Exp2Op op, PatternRewriter &rewriter) {
  Arithmetic a(op, rewriter);
  if (bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::afn)) {
    rewriter.replaceOp(op, quickPowerOfTwo(a, op.getOperand()));
    return success();
  }
  Value x = clamp(a, op.getOperand(), 200), n = math::RoundEvenOp::create(a, x);
  Value r = a.mul(arith::SubFOp::create(a, x, n), a.constant(std::numbers::ln2));
  rewriter.replaceOp(op, scaledExponential(a, n, r));
  return success();
}

LogicalResult expandExp(math::ExpOp op, PatternRewriter &rewriter) {
  Arithmetic a(op, rewriter);
  Value x = clamp(a, op.getOperand(), 140);
  Value n = math::RoundEvenOp::create(a, a.mul(x, a.constant(std::numbers::log2e)));
  // ln(2) in two parts: n times the first part, which has 9 bits, is exact.
  Value r = a.fma(n, a.constant(-0.693359375), x);
  r = a.fma(n, a.constant(2.12194440e-4), r);
  rewriter.replaceOp(op, scaledExponential(a, n, r));
  return success();
}

LogicalResult expandRsqrt(math::RsqrtOp op, PatternRewriter &rewriter) {
  Arithmetic a(op, rewriter);
  rewriter.replaceOpWithNewOp<arith::DivFOp>(op, a.constant(1), math::SqrtOp::create(a, op.getOperand()));
  return success();
}

/// Widens 16-bit float operands to f32, for ops whose result does not depend on the width: conversions to integers,
/// comparisons and classifications. The exception is isnormal of f16: f16 denormals are normal numbers in f32.
template <typename Op> LogicalResult widenOperandsToF32(Op op, PatternRewriter &rewriter) {
  Type type = op->getOperand(0).getType();
  if (getElementTypeOrSelf(type).getIntOrFloatBitWidth() != 16)
    return failure();
  if (std::is_same_v<Op, math::IsNormalOp> && getElementTypeOrSelf(type).isF16())
    return failure();
  auto vector = dyn_cast<VectorType>(type);
  Type wide = vector ? Type(vector.clone(rewriter.getF32Type())) : rewriter.getF32Type();
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(arith::ExtFOp::create(rewriter, op.getLoc(), wide, operand));
  rewriter.modifyOpInPlace(op, [&] { op->setOperands(operands); });
  return success();
}

/// Replaces a bf16 constant by a bitcast of an i16 constant, because registers hold bf16 as i16.
LogicalResult rewriteConstantAsBits(arith::ConstantOp op, PatternRewriter &rewriter) {
  if (!getElementTypeOrSelf(op.getType()).isBF16())
    return failure();
  Type i16 = rewriter.getI16Type();
  TypedAttr bits;
  if (auto elements = dyn_cast<DenseElementsAttr>(op.getValue()))
    bits = elements.bitcast(i16);
  else
    bits = rewriter.getIntegerAttr(i16, cast<FloatAttr>(op.getValue()).getValue().bitcastToAPInt());
  Value constant = arith::ConstantOp::create(rewriter, op.getLoc(), bits);
  rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), constant);
  return success();
}

/// Processors convert 16-bit floats but do not compute with them.
bool needsF32(Operation *op, FloatType) {
  return isa<math::MathDialect>(op->getDialect()) ||
         isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::RemFOp, arith::NegFOp,
             arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp, arith::SIToFPOp,
             arith::UIToFPOp>(op);
}

struct ExpandCpuMathPass : mlir::heddle::impl::ExpandCpuMathPassBase<ExpandCpuMathPass> {
  void runOnOperation() override {
    tile::FuncOp kernel = getOperation();
    if (failed(verifyNoTiles(kernel)))
      return signalPassFailure();
    RewritePatternSet operands(&getContext());
    operands.add(widenOperandsToF32<arith::CmpFOp>)
        .add(widenOperandsToF32<arith::FPToSIOp>)
        .add(widenOperandsToF32<arith::FPToUIOp>)
        .add(widenOperandsToF32<math::IsNaNOp>)
        .add(widenOperandsToF32<math::IsInfOp>)
        .add(widenOperandsToF32<math::IsFiniteOp>)
        .add(widenOperandsToF32<math::IsNormalOp>);
    walkAndApplyPatterns(kernel, std::move(operands));
    computeInF32(kernel, needsF32);
    expandFunctions(kernel);
    expandMath(kernel);
    RewritePatternSet patterns(&getContext());
    // The expansion of math.isnormal of f16 made new comparisons.
    patterns.add(expandExp).add(expandExp2).add(expandRsqrt).add(widenOperandsToF32<arith::CmpFOp>);
    walkAndApplyPatterns(kernel, std::move(patterns));
    // LLVM would call a compiler-rt function to round to bf16.
    RewritePatternSet conversions(&getContext());
    arith::populateExpandBFloat16Patterns(conversions);
    conversions.add(rewriteConstantAsBits);
    walkAndApplyPatterns(kernel, std::move(conversions));
  }
};

} // namespace
