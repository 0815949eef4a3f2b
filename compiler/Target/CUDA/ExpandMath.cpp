#include "compiler/Target/CUDA/LowerToNvvm.h"
#include "compiler/Target/CUDA/Passes.h"
#include "compiler/Target/ExpandFunctions.h"

#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

#include <numbers>

namespace mlir::heddle {
#define GEN_PASS_DEF_EXPANDMATHPASS
#include "compiler/Target/CUDA/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

/// f32 arithmetic on values of one type.
struct Arithmetic : ImplicitLocOpBuilder {
  Arithmetic(Operation *op, OpBuilder &builder)
      : ImplicitLocOpBuilder(op->getLoc(), builder), type(op->getResult(0).getType()) {}

  Value constant(double value) {
    TypedAttr attribute = getF32FloatAttr(static_cast<float>(value));
    if (auto vector = dyn_cast<VectorType>(type))
      attribute = DenseElementsAttr::get(vector, ArrayRef<Attribute>(attribute));
    return arith::ConstantOp::create(*this, attribute);
  }
  Value mul(Value x, Value y) { return arith::MulFOp::create(*this, x, y); }
  Value fma(Value x, Value y, Value z) { return math::FmaOp::create(*this, x, y, z); }
  /// The polynomial in x with these coefficients, the highest power's first.
  Value polynomial(Value x, ArrayRef<double> coefficients) {
    Value sum = constant(coefficients.front());
    for (double coefficient : coefficients.drop_front())
      sum = fma(sum, x, constant(coefficient));
    return sum;
  }

  Type type;
};

/// e^x = 2^(x log2(e)): the device's power of two is good, but the exponent's rounding error grows with x and has to be
/// made good.
struct ExpandExp : OpRewritePattern<math::ExpOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::ExpOp op, PatternRewriter &rewriter) const override {
    Arithmetic a(op, rewriter);
    constexpr double log2e = std::numbers::log2e, high = static_cast<float>(log2e);
    // Past these limits the result is 0 or infinity anyway, and the correction below would be infinity - infinity.
    Value x =
        arith::MinimumFOp::create(a, arith::MaximumFOp::create(a, op.getOperand(), a.constant(-200)), a.constant(200));
    Value exponent = a.mul(x, a.constant(high));
    Value error = a.fma(x, a.constant(high), arith::NegFOp::create(a, exponent));
    error = a.fma(x, a.constant(log2e - high), error);
    Value correction = a.fma(error, a.constant(std::numbers::ln2), a.constant(1));
    rewriter.replaceOp(op, a.mul(math::Exp2Op::create(a, exponent), correction));
    return success();
  }
};

/// Sine and cosine of arguments up to some 100,000: what is left after whole quarter turns, by polynomials (Cephes').
template <typename Op> struct ExpandTurn : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    Arithmetic a(op, rewriter);
    Value x = op.getOperand();
    Value turns = math::RoundEvenOp::create(a, a.mul(x, a.constant(2 / std::numbers::pi)));
    // A quarter turn in three parts, so that the products of the first two with a whole number are exact.
    for (double part : {-1.5703125, -4.837512969970703125e-4, -7.549789948768648e-8})
      x = a.fma(turns, a.constant(part), x);
    Value square = a.mul(x, x);
    Value sine =
        a.fma(a.mul(a.polynomial(square, {-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1}), square), x, x);
    Value cosine = a.polynomial(square, {2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2, -0.5, 1});

    Type integers = a.getI32Type();
    if (auto vector = dyn_cast<VectorType>(a.type))
      integers = vector.clone(integers);
    Value quarter = arith::FPToSIOp::create(a, integers, turns);
    auto number = [&](int32_t value) -> Value {
      TypedAttr attribute = a.getI32IntegerAttr(value);
      if (auto vector = dyn_cast<VectorType>(integers))
        attribute = DenseElementsAttr::get(vector, ArrayRef<Attribute>(attribute));
      return arith::ConstantOp::create(a, attribute);
    };
    auto bit = [&](Value of, int32_t mask) -> Value {
      return arith::CmpIOp::create(a, arith::CmpIPredicate::ne, arith::AndIOp::create(a, of, number(mask)), number(0));
    };
    if (isa<math::CosOp>(op)) // cos(x) = sin(x + a quarter turn)
      quarter = arith::AddIOp::create(a, quarter, number(1));
    Value result = arith::SelectOp::create(a, bit(quarter, 1), cosine, sine);
    rewriter.replaceOp(op, arith::SelectOp::create(a, bit(quarter, 2), arith::NegFOp::create(a, result), result));
    return success();
  }
};

/// Whether LLVM has no code in 16 bits for an op on NVIDIA's GPUs.
bool needsF32(Operation *op, FloatType) {
  return isa<arith::RemFOp>(op) || (isa<math::MathDialect>(op->getDialect()) &&
                                    !isa<math::AbsFOp, math::CeilOp, math::FloorOp, math::TruncOp, math::RoundOp,
                                         math::RoundEvenOp, math::CopySignOp, math::FmaOp>(op));
}

/// (e^x - e^-x) / 2, whose difference leaves few digits of a small x: there, the first terms of its series.
struct ExpandSinh : OpRewritePattern<math::SinhOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::SinhOp op, PatternRewriter &rewriter) const override {
    Arithmetic a(op, rewriter);
    Value x = op.getOperand(), square = a.mul(x, x);
    Value series = a.mul(x, a.polynomial(square, {1.0 / 5040, 1.0 / 120, 1.0 / 6, 1}));
    Value powers =
        arith::SubFOp::create(a, math::ExpOp::create(a, x), math::ExpOp::create(a, arith::NegFOp::create(a, x)));
    Value isSmall = arith::CmpFOp::create(a, arith::CmpFPredicate::OLT, square, a.constant(0.25));
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, isSmall, series, a.mul(powers, a.constant(0.5)));
    return success();
  }
};

struct ExpandLog10 : OpRewritePattern<math::Log10Op> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::Log10Op op, PatternRewriter &rewriter) const override {
    Arithmetic a(op, rewriter);
    rewriter.replaceOp(op, a.mul(math::LogOp::create(a, op.getOperand()), a.constant(std::numbers::log10e)));
    return success();
  }
};

struct ExpandMathPass : mlir::heddle::impl::ExpandMathPassBase<ExpandMathPass> {
  void runOnOperation() override {
    WalkResult walked = getOperation().walk([](Operation *op) {
      if (!llvm::any_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>))
        return WalkResult::advance();
      op->emitOpError("makes a tile; run heddle-lower-to-lanes first");
      return WalkResult::interrupt();
    });
    if (walked.wasInterrupted())
      return signalPassFailure();
    computeInF32(getOperation(), needsF32);
    expandFunctions(getOperation());
    // Functions by others, which are replaced in turn.
    RewritePatternSet functions(&getContext());
    math::populateExpansionPatterns(functions, {"cosh", "tan", "asinh", "acosh", "atanh"});
    populateMathPolynomialApproximationPatterns(functions, [](StringRef name) {
      return name == "math.acos" || name == "math.expm1" || name == "math.log1p" || name == "math.log2";
    });
    functions.add<ExpandSinh, ExpandLog10>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(functions));

    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandExp, ExpandTurn<math::SinOp>, ExpandTurn<math::CosOp>>(&getContext());
    populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
      return name == "math.log" || name == "math.tanh" || name == "math.asin" || name == "math.atan";
    });
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace
