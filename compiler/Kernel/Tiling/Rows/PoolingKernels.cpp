// Pooling over the rows of segments: the sum, the maximum or the minimum of each column.
#include "compiler/Kernel/Tiling/Frames/KernelEmitter.h"
#include "compiler/Kernel/Tiling/Rows/RowKernels.h"

#include <limits>

using namespace mlir;
using namespace mlir::heddle;

namespace {

/// A workgroup has a segment and one register of columns for each lane. It loops over the segment's rows.
struct SegmentKernel : KernelOpInterface::ExternalModel<SegmentKernel, SegmentOp> {
  bool takesPrologue(Operation *) const { return true; }
  bool takesEpilogue(Operation *) const { return true; }

  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto segment = cast<SegmentOp>(op);
    auto &b = emitter.builder();
    Matrix result = *Matrix::of(segment.getResult().getType());
    int64_t longest = segment.getRowSize().empty() ? 1 : emitter.maximumOf(segment.getRowSize());
    emitter.setMapping(tile::LaneMapping::Columns);
    emitter.setVector({result.columns});
    emitter.narrowVector(result.columns);
    int64_t run = emitter.getLanes() * emitter.getVector();
    Value number = emitter.setGrid(0, result.rows, result.size, 1);
    Value column = emitter.mul(emitter.setGrid(1, result.columns, {}, run), run);
    Value limit = result.columns % run != 0 ? emitter.index(result.columns) : Value();
    Value start = emitter.loadIndex(segment.getStarts(), number);
    Value length = emitter.loadIndex(segment.getLengths(), number);
    Value end = emitter.add(start, length);

    bool isSum = segment.getPool() == Pool::Sum;
    SmallVector<Value> state{isSum ? emitter.constant(1, run, 0) : worst(emitter, segment.getPool(), length, run)};
    if (!isSum)
      state.push_back(firstRow(emitter, start, length, run));
    state = emitter.loop(start, end, 1, longest, state, [&](Value row, ValueRange known) -> SmallVector<Value> {
      Value element = emitter.evaluate(segment.getInput(), {row, column, 1, run, {}, limit});
      if (isSum)
        return {arith::AddFOp::create(b, known[0], element)};
      Value isBetter = better(emitter, segment.getPool(), element, known[0]);
      return {arith::SelectOp::create(b, isBetter, element, known[0]),
              arith::SelectOp::create(b, isBetter, splat(emitter, row, run), known[1])};
    });
    Place place{number, column, 1, run, {}, limit};
    for (auto [value, tile] : llvm::zip_equal(segment.getResults(), state))
      emitter.define(value, place, tile);
    return emitter.finish(result, place);
  }

private:
  static Value splat(KernelEmitter &emitter, Value number, int64_t columns) {
    auto &b = emitter.builder();
    Value i32 = arith::IndexCastOp::create(b, b.getI32Type(), number);
    return tile::SplatOp::create(b, emitter.tileType(1, columns, b.getI32Type()), i32);
  }
  static Value isEmpty(KernelEmitter &emitter, Value length) {
    return arith::CmpIOp::create(emitter.builder(), arith::CmpIPredicate::eq, length, emitter.index(0));
  }
  /// The initial value: -inf for a maximum, inf for a minimum, and 0 for a segment without rows, whose result it is.
  static Value worst(KernelEmitter &emitter, Pool pool, Value length, int64_t columns) {
    auto &b = emitter.builder();
    float infinity = std::numeric_limits<float>::infinity();
    Value none = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
    Value lowest = arith::ConstantOp::create(b, b.getF32FloatAttr(pool == Pool::Max ? -infinity : infinity));
    Value number = arith::SelectOp::create(b, isEmpty(emitter, length), none, lowest);
    return tile::SplatOp::create(b, emitter.tileType(1, columns), number);
  }
  /// The initial row number: the first row, which remains if all elements are infinite, or -1 without rows.
  static Value firstRow(KernelEmitter &emitter, Value start, Value length, int64_t columns) {
    auto &b = emitter.builder();
    Value row = arith::SelectOp::create(b, isEmpty(emitter, length), emitter.index(-1), start);
    return splat(emitter, row, columns);
  }
  /// Returns where `element` replaces `known`. NaN replaces every number, and nothing replaces NaN.
  static Value better(KernelEmitter &emitter, Pool pool, Value element, Value known) {
    auto &b = emitter.builder();
    auto how = pool == Pool::Max ? arith::CmpFPredicate::UGT : arith::CmpFPredicate::ULT;
    Value isBetter = arith::CmpFOp::create(b, how, element, known);
    Value isNumber = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, known, known);
    return arith::AndIOp::create(b, isBetter, isNumber);
  }
};

} // namespace

void heddle::registerPoolingKernels(DialectRegistry &registry) {
  registry.addExtension(
      +[](MLIRContext *context, HeddleDialect *) { SegmentOp::attachInterface<SegmentKernel>(*context); });
}
