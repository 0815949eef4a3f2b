#include "compiler/Graph/Autodiff/ArithGradients.h"

#include "dialects/Heddle/Heddle.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"

#include <cmath>

using namespace mlir;
using namespace mlir::heddle;

namespace {

using Gradients = SmallVector<Value>;

/// Writes a gradient rule as a formula on tensors or scalars of one type, at the location of the rule's op.
struct Formula {
  OpBuilder &builder;
  Location loc;
  Type type;

  Value constant(double value) const {
    FloatAttr number = builder.getFloatAttr(getElementTypeOrSelf(type), value);
    if (isa<FloatType>(type))
      return arith::ConstantOp::create(builder, loc, number);
    return FillOp::create(builder, loc, type, number);
  }
  Value add(Value a, Value b) const { return arith::AddFOp::create(builder, loc, a, b); }
  Value sub(Value a, Value b) const { return arith::SubFOp::create(builder, loc, a, b); }
  Value mul(Value a, Value b) const { return arith::MulFOp::create(builder, loc, a, b); }
  Value div(Value a, Value b) const { return arith::DivFOp::create(builder, loc, a, b); }
  Value neg(Value a) const { return arith::NegFOp::create(builder, loc, a); }
  Value greater(Value a, Value b) const { return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, a, b); }
  Value select(Value condition, Value a, Value b) const {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
};

Gradients rule(arith::AddFOp op, const Formula &f, Value g) { return {g, g}; }
Gradients rule(arith::SubFOp op, const Formula &f, Value g) { return {g, f.neg(g)}; }
Gradients rule(arith::MulFOp op, const Formula &f, Value g) { return {f.mul(g, op.getRhs()), f.mul(g, op.getLhs())}; }
Gradients rule(arith::DivFOp op, const Formula &f, Value g) {
  Value lhs = f.div(g, op.getRhs());
  return {lhs, f.neg(f.mul(lhs, op.getResult()))};
}
Gradients rule(arith::NegFOp op, const Formula &f, Value g) { return {f.neg(g)}; }

// If both sides are equal the gradient goes to the right: maximumf(x, 0) then has gradient 0 at 0, as usual for ReLU.
// The result exceeds the right side exactly if the left side does, and the forward pass keeps the result anyway.
Gradients rule(arith::MaximumFOp op, const Formula &f, Value g) {
  Value left = f.greater(op.getResult(), op.getRhs()), zero = f.constant(0);
  return {f.select(left, g, zero), f.select(left, zero, g)};
}
Gradients rule(arith::MinimumFOp op, const Formula &f, Value g) {
  Value left = f.greater(op.getRhs(), op.getLhs()), zero = f.constant(0);
  return {f.select(left, g, zero), f.select(left, zero, g)};
}
Gradients rule(arith::SelectOp op, const Formula &f, Value g) {
  Value zero = f.constant(0);
  return {Value(), f.select(op.getCondition(), g, zero), f.select(op.getCondition(), zero, g)};
}

Gradients rule(math::ExpOp op, const Formula &f, Value g) { return {f.mul(g, op.getResult())}; }
Gradients rule(math::LogOp op, const Formula &f, Value g) { return {f.div(g, op.getOperand())}; }
Gradients rule(math::SqrtOp op, const Formula &f, Value g) {
  return {f.div(f.mul(g, f.constant(0.5)), op.getResult())};
}
Gradients rule(math::RsqrtOp op, const Formula &f, Value g) {
  Value y = op.getResult(), half = f.mul(g, f.constant(-0.5));
  return {f.mul(half, f.mul(y, f.mul(y, y)))};
}
Gradients rule(math::TanhOp op, const Formula &f, Value g) {
  Value one = f.constant(1), square = f.mul(op.getResult(), op.getResult());
  return {f.mul(g, f.sub(one, square))};
}

// The slope of erf at x is 2 / sqrt(pi) * exp(-x^2).
Gradients rule(math::ErfOp op, const Formula &f, Value g) {
  Value x = op.getOperand();
  Value slope = math::ExpOp::create(f.builder, f.loc, f.neg(f.mul(x, x)));
  return {f.mul(f.mul(g, f.constant(2 / std::sqrt(M_PI))), slope)};
}

template <typename OpTy> struct Model : DifferentiableOpInterface::ExternalModel<Model<OpTy>, OpTy> {
  FailureOr<SmallVector<Value>> buildGradient(Operation *op, OpBuilder &builder, ValueRange gradients) const {
    Formula formula{builder, op->getLoc(), op->getResult(0).getType()};
    if (!isa<RankedTensorType, FloatType>(formula.type))
      return op->emitOpError() << "has a gradient rule on tensors and scalars only, not on " << formula.type;
    return rule(cast<OpTy>(op), formula, gradients[0]);
  }
};

template <typename... Ops> void attach(MLIRContext *context) {
  (Ops::template attachInterface<Model<Ops>>(*context), ...);
}

} // namespace

void heddle::registerArithGradients(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    attach<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::NegFOp, arith::MaximumFOp,
           arith::MinimumFOp, arith::SelectOp>(context);
  });
  registry.addExtension(+[](MLIRContext *context, math::MathDialect *) {
    attach<math::ErfOp, math::ExpOp, math::LogOp, math::SqrtOp, math::RsqrtOp, math::TanhOp>(context);
  });
}
