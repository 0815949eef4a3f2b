#include "compiler/Cost/Cost.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

/// An i32 value of a mask as query * q + key * k + constant.
struct Linear {
  int64_t query = 0, key = 0, constant = 0;
};

std::optional<Linear> matchLinear(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argument.getArgNumber() == 0 ? Linear{1, 0, 0} : Linear{0, 1, 0};
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return Linear{0, 0, constant.getSExtValue()};
  Operation *op = value.getDefiningOp();
  if (!isa<arith::AddIOp, arith::SubIOp>(op))
    return std::nullopt;
  std::optional<Linear> a = matchLinear(op->getOperand(0)), b = matchLinear(op->getOperand(1));
  if (!a || !b)
    return std::nullopt;
  int64_t sign = isa<arith::SubIOp>(op) ? -1 : 1;
  return Linear{a->query + sign * b->query, a->key + sign * b->key, a->constant + sign * b->constant};
}

int64_t narrower(int64_t a, int64_t b) { return a < 0 ? b : b < 0 ? a : std::min(a, b); }

/// Narrows `band` by what must hold for `condition` to be true.
void narrow(Band &band, Value condition) {
  Operation *op = condition.getDefiningOp();
  if (isa_and_nonnull<arith::AndIOp>(op)) {
    narrow(band, op->getOperand(0));
    narrow(band, op->getOperand(1));
    return;
  }
  auto compare = dyn_cast_or_null<arith::CmpIOp>(op);
  if (!compare)
    return;
  std::optional<Linear> lhs = matchLinear(compare.getLhs()), rhs = matchLinear(compare.getRhs());
  if (!lhs || !rhs)
    return;
  // As d * (key - query) + constant <= 0 with d = 1 or -1.
  Linear difference{lhs->query - rhs->query, lhs->key - rhs->key, lhs->constant - rhs->constant};
  auto negate = [&] { difference = {-difference.query, -difference.key, -difference.constant}; };
  using arith::CmpIPredicate;
  CmpIPredicate predicate = compare.getPredicate();
  if (predicate == CmpIPredicate::sge || predicate == CmpIPredicate::sgt)
    negate();
  else if (predicate != CmpIPredicate::sle && predicate != CmpIPredicate::slt)
    return;
  if (predicate == CmpIPredicate::slt || predicate == CmpIPredicate::sgt)
    difference.constant += 1;
  // A bound on the other side of the query (a key that must come after it) is left to the general case: no bound.
  if (difference.key == 1 && difference.query == -1 && difference.constant <= 0)
    band.above = narrower(band.above, -difference.constant);
  else if (difference.key == -1 && difference.query == 1 && difference.constant <= 0)
    band.below = narrower(band.below, -difference.constant);
}

} // namespace

Band mlir::heddle::findBand(Region &mask) {
  Band band;
  if (!mask.empty())
    narrow(band, mask.front().getTerminator()->getOperand(0));
  return band;
}
