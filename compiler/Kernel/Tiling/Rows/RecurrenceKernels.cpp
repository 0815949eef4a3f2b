// Recurrences: the rows of a step, cutting and joining columns, and the order of steps.
#include "compiler/Kernel/Tiling/Frames/KernelEmitter.h"
#include "compiler/Kernel/Tiling/Rows/RowKernels.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// A tile filled with one index, as i32.
Value splat(KernelEmitter &emitter, int64_t rows, int64_t columns, Value number) {
  auto &b = emitter.builder();
  Value i32 = arith::IndexCastOp::create(b, b.getI32Type(), number);
  return tile::SplatOp::create(b, emitter.tileType(rows, columns, b.getI32Type()), i32);
}

Value compare(KernelEmitter &emitter, arith::CmpIPredicate how, Value a, Value b) {
  return arith::CmpIOp::create(emitter.builder(), how, a, b);
}

/// Adds 1 to the elements of `sum` where `condition` is true.
Value countWhere(KernelEmitter &emitter, Value condition, Value sum) {
  auto &b = emitter.builder();
  return arith::AddIOp::create(b, sum, arith::ExtUIOp::create(b, sum.getType(), condition));
}

//===-- Rows and columns at other places ------------------------------------------------------------------------===//

struct StepRowsTile : TileOpInterface::ExternalModel<StepRowsTile, StepRowsOp> {
  bool readsElsewhere(Operation *, unsigned) const { return true; }

  SmallVector<Value> emitTile(Operation *op, KernelEmitter &emitter, const Place &place) const {
    auto step = cast<StepRowsOp>(op);
    Value first = emitter.loadIndex(step.getStart(), emitter.index(0));
    Place at = place;
    at.row = emitter.add(place.row, first);
    at.rowLimit = place.rowLimit ? emitter.add(place.rowLimit, first) : Value();
    return {emitter.load(emitter.memoryOf(step.getInput()), at)};
  }
};

struct ColumnsTile : TileOpInterface::ExternalModel<ColumnsTile, ColumnsOp> {
  SmallVector<Value> emitTile(Operation *op, KernelEmitter &emitter, const Place &place) const {
    auto columns = cast<ColumnsOp>(op);
    Value from = emitter.index(static_cast<int64_t>(columns.getFrom()));
    Place at = place;
    at.column = emitter.add(place.column, from);
    at.columnLimit = place.columnLimit ? emitter.add(place.columnLimit, from) : Value();
    return {emitter.evaluate(columns.getInput(), at)};
  }
};

/// These ops are taken apart before a kernel stores its results (KernelEmitter::findDestinations). So a tile of them is
/// never computed.
template <typename StoredOp> struct StoredTile : TileOpInterface::ExternalModel<StoredTile<StoredOp>, StoredOp> {
  bool readsElsewhere(Operation *op, unsigned operand) const {
    if constexpr (std::is_same_v<StoredOp, ScatterRowsOp>)
      return &op->getOpOperand(operand) == &cast<ScatterRowsOp>(op).getDestinationMutable();
    return std::is_same_v<StoredOp, InsertRowsOp> && operand != 0;
  }
  SmallVector<Value> emitTile(Operation *op, KernelEmitter &emitter, const Place &) const {
    emitter.fail() << "'" << op->getName() << "' is made in memory, and a kernel cannot go on with it";
    return {};
  }
};

//===-- The order of steps --------------------------------------------------------------------------------------===//

/// A lane owns a row and loops over all numbers.
struct RankKernel : KernelOpInterface::ExternalModel<RankKernel, RankOp> {
  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto rank = cast<RankOp>(op);
    auto &b = emitter.builder();
    Matrix numbers = *Matrix::of(typeOf(rank.getLengths()));
    if (!numbers.isDynamic())
      return emitter.fail() << "ranks are of as many numbers as a run-time size says";
    emitter.setMapping(tile::LaneMapping::Rows);
    int64_t rows = emitter.getLanes();
    Value row = emitter.mul(emitter.setGrid(0, numbers.rows, numbers.size, rows), rows);
    Place place{row, emitter.index(0), rows, 1, emitter.rowsOf(numbers), {}};
    Value own = emitter.load(emitter.memoryOf(rank.getLengths()), place), index = emitter.indices(place, 0);
    Value before =
        emitter.loop(emitter.index(0), emitter.rowsOf(numbers), 1, emitter.maximumRows(numbers),
                     emitter.constantInt(rows, 1, 0), [&](Value other, ValueRange count) -> SmallVector<Value> {
                       Value number = splat(emitter, rows, 1, emitter.loadIndex(rank.getLengths(), other));
                       Value larger = compare(emitter, arith::CmpIPredicate::sgt, number, own);
                       Value equal = compare(emitter, arith::CmpIPredicate::eq, number, own);
                       Value earlier =
                           compare(emitter, arith::CmpIPredicate::slt, splat(emitter, rows, 1, other), index);
                       Value isBefore = arith::OrIOp::create(b, larger, arith::AndIOp::create(b, equal, earlier));
                       return {countWhere(emitter, isBefore, count[0])};
                     })[0];
    emitter.store(rank.getResult(), before, place);
    return success();
  }
};

/// A lane owns a step and loops over all sequences.
struct StepSizesKernel : KernelOpInterface::ExternalModel<StepSizesKernel, StepSizesOp> {
  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto sizes = cast<StepSizesOp>(op);
    auto &b = emitter.builder();
    Matrix sequences = *Matrix::of(typeOf(sizes.getLengths())), steps = *Matrix::of(typeOf(sizes.getStarts()));
    emitter.setMapping(tile::LaneMapping::Columns);
    emitter.setVector({1});
    int64_t columns = emitter.getLanes();
    Value column = emitter.mul(emitter.setGrid(0, steps.columns, {}, columns), columns);
    Place place{emitter.index(0), column, 1, columns, {}, emitter.index(steps.columns)};
    Value step = emitter.indices(place, 1), zero = emitter.constantInt(1, columns, 0);
    SmallVector<Value> sums =
        emitter.loop(emitter.index(0), emitter.rowsOf(sequences), 1, emitter.maximumRows(sequences), {zero, zero},
                     [&](Value sequence, ValueRange sums) -> SmallVector<Value> {
                       Value length = splat(emitter, 1, columns, emitter.loadIndex(sizes.getLengths(), sequence));
                       Value isThere = compare(emitter, arith::CmpIPredicate::sgt, length, step);
                       Value before = arith::MinSIOp::create(b, length, step);
                       return {arith::AddIOp::create(b, sums[0], before), countWhere(emitter, isThere, sums[1])};
                     });
    Value tokens = splat(emitter, 1, columns, emitter.size(sizes.getTokens()));
    Value start = arith::MinSIOp::create(b, sums[0], tokens);
    Value count = arith::MinSIOp::create(b, sums[1], arith::SubIOp::create(b, tokens, start));
    emitter.store(sizes.getStarts(), start, place);
    emitter.store(sizes.getCounts(), count, place);
    return success();
  }
};

/// A lane owns a token and a place, and loops over the steps. Row numbers are clamped to the tensors' extents, even for
/// tokens that no sequence owns.
struct StepOrderTile : TileOpInterface::ExternalModel<StepOrderTile, StepOrderOp> {
  bool readsElsewhere(Operation *, unsigned operand) const { return operand >= 2; }

  SmallVector<Value> emitTile(Operation *op, KernelEmitter &emitter, const Place &place) const {
    auto order = cast<StepOrderOp>(op);
    auto &b = emitter.builder();
    int64_t rows = place.rows, steps = typeOf(order.getStarts()).getDimSize(0);
    Matrix sequences = *Matrix::of(typeOf(order.getRank())), tokens = *Matrix::of(typeOf(order.getPosition()));
    Value position = emitter.evaluate(order.getPosition(), place), index = emitter.indices(place, 0);
    Value zero = emitter.constantInt(rows, 1, 0);
    Value starts = emitter.memoryOf(order.getStarts());
    SmallVector<Value> found = emitter.loop(emitter.index(0), emitter.index(steps), 1, steps, {zero, zero, zero},
                                            [&](Value step, ValueRange found) -> SmallVector<Value> {
                                              Value number =
                                                  memref::LoadOp::create(b, starts, ValueRange{emitter.index(0), step});
                                              Value start = tile::SplatOp::create(b, index.getType(), number);
                                              Value at = splat(emitter, rows, 1, step);
                                              Value isOwn = compare(emitter, arith::CmpIPredicate::eq, at, position);
                                              Value begins = compare(emitter, arith::CmpIPredicate::sle, start, index);
                                              return {arith::SelectOp::create(b, isOwn, start, found[0]),
                                                      arith::SelectOp::create(b, begins, start, found[1]),
                                                      arith::SelectOp::create(b, begins, at, found[2])};
                                            });
    auto within = [&](Value number, const Matrix &matrix) -> Value {
      Value last = splat(emitter, rows, 1, arith::SubIOp::create(b, emitter.rowsOf(matrix), emitter.index(1)));
      return arith::MaxSIOp::create(b, zero, arith::MinSIOp::create(b, number, last));
    };
    auto gather = [&](Value table, Value at) -> Value {
      return tile::GatherOp::create(b, index.getType(), emitter.memoryOf(table), within(at, sequences),
                                    emitter.index(0), Value());
    };
    Value sequence = emitter.evaluate(order.getSequence(), place);
    Value goesTo = arith::AddIOp::create(b, found[0], gather(order.getRank(), sequence));
    Value owner = gather(order.getOrder(), arith::SubIOp::create(b, index, found[1]));
    Value comes = arith::AddIOp::create(b, gather(order.getSequenceStarts(), owner), found[2]);
    return {within(goesTo, tokens), within(comes, tokens)};
  }
};

} // namespace

void heddle::registerRecurrenceKernels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, HeddleDialect *) {
    StepRowsOp::attachInterface<StepRowsTile>(*context);
    ColumnsOp::attachInterface<ColumnsTile>(*context);
    InsertRowsOp::attachInterface<StoredTile<InsertRowsOp>>(*context);
    JoinOp::attachInterface<StoredTile<JoinOp>>(*context);
    ScatterRowsOp::attachInterface<StoredTile<ScatterRowsOp>>(*context);
    RankOp::attachInterface<RankKernel>(*context);
    StepSizesOp::attachInterface<StepSizesKernel>(*context);
    StepOrderOp::attachInterface<StepOrderTile>(*context);
  });
}
