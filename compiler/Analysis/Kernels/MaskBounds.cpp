#include "compiler/Analysis/Kernels/MaskBounds.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

using Linear = std::optional<MaskBound>;

Linear combine(Linear a, Linear b, int64_t sign) {
  if (!a || !b)
    return {};
  return MaskBound{a->query + sign * b->query, a->key + sign * b->key, a->constant + sign * b->constant};
}

/// Returns the value as a linear expression of the region's arguments, or nothing if it is not linear.
Linear linearOf(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return MaskBound{argument.getArgNumber() == 0, argument.getArgNumber() == 1, 0};
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return MaskBound{0, 0, *constant};
  if (auto sum = value.getDefiningOp<arith::AddIOp>())
    return combine(linearOf(sum.getLhs()), linearOf(sum.getRhs()), 1);
  if (auto difference = value.getDefiningOp<arith::SubIOp>())
    return combine(linearOf(difference.getLhs()), linearOf(difference.getRhs()), -1);
  if (auto product = value.getDefiningOp<arith::MulIOp>()) {
    Linear factor = linearOf(product.getRhs());
    if (factor && factor->query == 0 && factor->key == 0)
      return combine(MaskBound{0, 0, 0}, linearOf(product.getLhs()), factor->constant);
  }
  return {};
}

/// Adds the bounds that `smaller` + `gap` <= `larger` implies. Returns true if they are equivalent to it.
bool addOrder(Value smaller, Value larger, int64_t gap, SmallVectorImpl<MaskBound> &bounds) {
  Linear upper = linearOf(larger);
  auto add = [&](Linear bound) {
    if (bound)
      bounds.push_back({bound->query, bound->key, bound->constant - gap});
    return bound.has_value();
  };
  if (auto distance = smaller.getDefiningOp<math::AbsIOp>()) {
    bool left = add(combine(upper, linearOf(distance.getOperand()), -1));
    return add(combine(upper, linearOf(distance.getOperand()), 1)) && left;
  }
  return add(combine(upper, linearOf(smaller), -1));
}

/// Adds the bounds that `condition` implies. Returns true if they are equivalent to it.
bool addConditions(Value condition, SmallVectorImpl<MaskBound> &bounds) {
  if (auto both = condition.getDefiningOp<arith::AndIOp>()) {
    bool left = addConditions(both.getLhs(), bounds);
    return addConditions(both.getRhs(), bounds) && left;
  }
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  if (!compare)
    return false;
  Value lhs = compare.getLhs(), rhs = compare.getRhs();
  switch (compare.getPredicate()) {
  case arith::CmpIPredicate::eq: {
    bool least = addOrder(lhs, rhs, 0, bounds);
    return addOrder(rhs, lhs, 0, bounds) && least;
  }
  case arith::CmpIPredicate::sle:
    return addOrder(lhs, rhs, 0, bounds);
  case arith::CmpIPredicate::slt:
    return addOrder(lhs, rhs, 1, bounds);
  case arith::CmpIPredicate::sge:
    return addOrder(rhs, lhs, 0, bounds);
  case arith::CmpIPredicate::sgt:
    return addOrder(rhs, lhs, 1, bounds);
  default: // unsigned comparisons and `ne` give no bound
    return false;
  }
}

} // namespace

SmallVector<MaskBound> heddle::getMaskBounds(Region &mask, bool *exact) {
  SmallVector<MaskBound> bounds;
  bool all = mask.empty() || addConditions(mask.front().getTerminator()->getOperand(0), bounds);
  if (exact)
    *exact = all;
  return bounds;
}
