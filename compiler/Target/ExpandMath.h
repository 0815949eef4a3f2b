// Expands f32 functions into arithmetic that is accurate to a few units in the last place.
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::heddle {

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
  /// A polynomial in x. The coefficient of the highest power comes first.
  Value polynomial(Value x, ArrayRef<double> coefficients) {
    Value sum = constant(coefficients.front());
    for (double coefficient : coefficients.drop_front())
      sum = fma(sum, x, constant(coefficient));
    return sum;
  }

  Type type;
};

/// Fails with an error at the first op that returns a tile: functions are expanded only after lowering to lanes.
LogicalResult verifyNoTiles(Operation *kernel);

/// Replaces the f32 `math` ops that expandFunctions (ExpandFunctions.h) leaves, except `exp`, `exp2` and those that
/// devices have instructions for.
void expandMath(Operation *kernel);

} // namespace mlir::heddle
