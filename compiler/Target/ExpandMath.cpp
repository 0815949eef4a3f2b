#include "compiler/Target/ExpandMath.h"

#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

#include <numbers>

using namespace mlir;
using namespace mlir::heddle;

namespace {

/// Sine and cosine for arguments up to about 100,000: subtracts whole quarter turns and evaluates Cephes' polynomials
/// on the rest.
template <typename Op> LogicalResult expandTurn(Op op, PatternRewriter &rewriter) {
  Arithmetic a(op, rewriter);
  Value x = op.getOperand();
  Value turns = math::RoundEvenOp::create(a, a.mul(x, a.constant(2 / std::numbers::pi)));
  // pi / 2 in three parts: the products of the first two with an integer are exact.
  for (double part : {-1.5703125, -4.837512969970703125e-4, -7.549789948768648e-8})
    x = a.fma(turns, a.constant(part), x);
  Value square = a.mul(x, x);
  Value sine = a.fma(a.mul(a.polynomial(square, {-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1}), square), x, x);
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

/// (e^x - e^-x) / 2. The difference cancels for small x, so the first terms of the series replace it there.
LogicalResult expandSinh(math::SinhOp op, PatternRewriter &rewriter) {
  Arithmetic a(op, rewriter);
  Value x = op.getOperand(), square = a.mul(x, x);
  Value series = a.mul(x, a.polynomial(square, {1.0 / 5040, 1.0 / 120, 1.0 / 6, 1}));
  Value powers =
      arith::SubFOp::create(a, math::ExpOp::create(a, x), math::ExpOp::create(a, arith::NegFOp::create(a, x)));
  Value isSmall = arith::CmpFOp::create(a, arith::CmpFPredicate::OLT, square, a.constant(0.25));
  rewriter.replaceOpWithNewOp<arith::SelectOp>(op, isSmall, series, a.mul(powers, a.constant(0.5)));
  return success();
}

LogicalResult expandLog10(math::Log10Op op, PatternRewriter &rewriter) {
  Arithmetic a(op, rewriter);
  rewriter.replaceOp(op, a.mul(math::LogOp::create(a, op.getOperand()), a.constant(std::numbers::log10e)));
  return success();
}

} // namespace

LogicalResult heddle::verifyNoTiles(Operation *kernel) {
  WalkResult walked = kernel->walk([](Operation *op) {
    if (!llvm::any_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>))
      return WalkResult::advance();
    op->emitOpError("makes a tile; run heddle-lower-to-lanes first");
    return WalkResult::interrupt();
  });
  return success(!walked.wasInterrupted());
}

void heddle::expandMath(Operation *kernel) {
  MLIRContext *context = kernel->getContext();
  // First express functions by simpler functions, which the second set of patterns expands.
  RewritePatternSet functions(context);
  math::populateExpansionPatterns(functions, {"cosh", "tan", "asinh", "acosh", "atanh"});
  populateMathPolynomialApproximationPatterns(functions, [](StringRef name) {
    return name == "math.acos" || name == "math.expm1" || name == "math.log1p" || name == "math.log2";
  });
  functions.add(expandSinh).add(expandLog10);
  walkAndApplyPatterns(kernel, std::move(functions));

  RewritePatternSet patterns(context);
  patterns.add(expandTurn<math::SinOp>).add(expandTurn<math::CosOp>);
  arith::populateCeilFloorDivExpandOpsPatterns(patterns); // LLVM only divides toward zero
  populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
    return name == "math.log" || name == "math.tanh" || name == "math.asin" || name == "math.atan";
  });
  walkAndApplyPatterns(kernel, std::move(patterns));
}
