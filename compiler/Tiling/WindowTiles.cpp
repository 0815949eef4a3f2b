// Windows over the rows of a sequence.
#include "compiler/Tiling/Windows.h"

using namespace mlir;
using namespace mlir::heddle;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

MovedRows::MovedRows(KernelEmitter &emitter, Value memory, Value positions, int64_t offset, const Place &place)
    : emitter(emitter), memory(memory), offset(offset) {
  if (offset == 0)
    return;
  auto &b = emitter.builder();
  limit = emitter.rowsOf(*Matrix::of(typeOf(positions)));
  Place rows{place.row, emitter.index(0), place.rows, 1, place.rowLimit, {}};
  Value here = emitter.evaluate(positions, rows), there = load(emitter.memoryOf(positions), move(rows), Padding::Zero);
  // A row past the limit has position 0 here and there: that is no neighbour's.
  Value expected = arith::AddIOp::create(b, here, emitter.constantInt(place.rows, 1, offset));
  inside = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, there, expected);
}

Place MovedRows::move(Place place) const {
  if (offset == 0)
    return place;
  place.row = emitter.add(place.row, emitter.index(offset));
  place.rowLimit = limit;
  return place;
}

Value MovedRows::load(Value memory, const Place &place, Padding padding) const {
  Value tile = emitter.load(memory, place, padding);
  if (offset < 0)
    tile.getDefiningOp<tile::LoadOp>().setClamped(true);
  return tile;
}

Value MovedRows::read(const Place &place, Padding padding, int64_t firstColumn) const {
  Place at = move(place);
  at.column = emitter.add(at.column, emitter.index(firstColumn));
  at.columnLimit = at.columnLimit ? emitter.add(at.columnLimit, emitter.index(firstColumn)) : Value();
  if (offset == 0)
    return load(memory, at, padding);
  // Rows past the limit are none of the sequence's: zero by `inside`.
  Value tile = load(memory, at, at.columnLimit ? padding : Padding::Any);
  return arith::SelectOp::create(emitter.builder(), emitter.broadcast(inside, place.rows, place.columns), tile,
                                 emitter.constant(place.rows, place.columns, 0));
}

MovedRows heddle::movedRowsOf(UnfoldOp unfold, KernelEmitter &emitter, const Place &place) {
  return {emitter, emitter.memoryOf(unfold.getInput()), unfold.getPositions(), static_cast<int64_t>(unfold.getFirst()), place};
}

namespace {

/// Of several offsets the columns are blocks, which `heddle-lower-windows` has taken apart.
struct UnfoldTile : TileOpInterface::ExternalModel<UnfoldTile, UnfoldOp> {
  bool readsElsewhere(Operation *, unsigned) const { return true; }

  SmallVector<Value> emitTile(Operation *op, KernelEmitter &emitter, const Place &place) const {
    auto unfold = cast<UnfoldOp>(op);
    if (unfold.getFirst() != unfold.getLast()) {
      emitter.fail() << "'heddle.unfold' of several offsets is not tiled; heddle-lower-windows makes parts of it";
      return {};
    }
    return {movedRowsOf(unfold, emitter, place).read(place, Padding::Zero)};
  }
};

struct FoldTile : TileOpInterface::ExternalModel<FoldTile, FoldOp> {
  bool readsElsewhere(Operation *, unsigned) const { return true; }

  SmallVector<Value> emitTile(Operation *op, KernelEmitter &emitter, const Place &place) const {
    auto fold = cast<FoldOp>(op);
    auto first = static_cast<int64_t>(fold.getFirst()), last = static_cast<int64_t>(fold.getLast());
    int64_t columns = typeOf(fold.getResult()).getDimSize(1);
    Value memory = emitter.memoryOf(fold.getInput()), sum;
    for (int64_t offset = first; offset <= last; ++offset) {
      Value part = MovedRows(emitter, memory, fold.getPositions(), -offset, place)
                       .read(place, Padding::Zero, (offset - first) * columns);
      sum = sum ? arith::AddFOp::create(emitter.builder(), sum, part).getResult() : part;
    }
    return {sum};
  }
};

} // namespace

void heddle::registerWindowTiles(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, HeddleDialect *) {
    UnfoldOp::attachInterface<UnfoldTile>(*context);
    FoldOp::attachInterface<FoldTile>(*context);
  });
}
