// The softmax of rows that a kernel reads piece by piece, in two walks over each row: the first finds its largest
// element and the sum of its powers, the second computes the weights from them.
#pragma once

#include "compiler/Kernel/Tiling/Frames/KernelEmitter.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace mlir::heddle {

class RowSoftmax {
public:
  /// Lower than any logit. The difference of two such values is still finite.
  static constexpr double kLowest = -1e30;

  RowSoftmax(KernelEmitter &emitter, int64_t rows)
      : emitter(emitter), b(emitter.builder()), rows(rows), lowest(emitter.constant(rows, 1, kLowest)) {}

  /// Returns the elements, raised to at least kLowest: a difference of infinities would be NaN.
  Value raise(Value piece) const { return arith::MaximumFOp::create(b, piece, wide(lowest, piece)); }
  /// The totals of no elements: each row's largest element, and the sum of powers relative to it.
  SmallVector<Value> begin() const { return {lowest, emitter.constant(rows, 1, 0)}; }
  /// Returns the totals with a piece of each row added.
  SmallVector<Value> add(ValueRange totals, Value piece) const {
    Value largest = arith::MaximumFOp::create(b, totals[0], emitter.reduce(tile::Combine::Max, piece, 1));
    Value rescale = power(totals[0], largest);
    Value powers = emitter.reduce(tile::Combine::Sum, power(piece, largest), 1);
    return {largest, math::FmaOp::create(b, totals[1], rescale, powers)};
  }
  /// Returns exp(element - largest) for a piece of each row.
  Value power(Value piece, Value largest) const {
    return math::ExpOp::create(b, arith::SubFOp::create(b, piece, wide(largest, piece)));
  }
  /// Returns the factor that makes weights of powers. If all elements of a row are kLowest, it is zero.
  Value scale(ValueRange totals) const {
    Value any = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, totals[0], lowest);
    Value inverse = arith::DivFOp::create(b, emitter.constant(rows, 1, 1), totals[1]);
    return arith::SelectOp::create(b, any, inverse, emitter.constant(rows, 1, 0));
  }

private:
  Value wide(Value column, Value piece) const {
    return emitter.broadcast(column, rows, cast<RankedTensorType>(piece.getType()).getDimSize(1));
  }

  KernelEmitter &emitter;
  ImplicitLocOpBuilder &b;
  int64_t rows;
  Value lowest;
};

} // namespace mlir::heddle
