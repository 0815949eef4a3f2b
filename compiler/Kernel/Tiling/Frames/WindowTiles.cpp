// Windows over the rows of a sequence, and strides over the pixels of images.
#include "compiler/Kernel/Tiling/Frames/Windows.h"

#include <cstdlib>

using namespace mlir;
using namespace mlir::heddle;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// A kernel that reads rows further away than this gets the distance as a number, so that one kernel serves all offsets
/// of a large window of an image.
static constexpr int64_t kFar = 4;

MovedRows::MovedRows(KernelEmitter &emitter, Value memory, Value positions, int64_t offset, const Place &place)
    : emitter(emitter), memory(memory), offset(offset) {
  if (offset == 0)
    return;
  auto &b = emitter.builder();
  if (std::abs(offset) > kFar && emitter.hasRoomForNumber())
    distance = emitter.number(std::abs(offset));
  limit = emitter.rowsOf(*Matrix::of(typeOf(positions)));
  Place rows{place.row, emitter.index(0), place.rows, 1, place.rowLimit, {}};
  Value here = emitter.evaluate(positions, rows), there = load(emitter.memoryOf(positions), move(rows), Padding::Zero);
  // Past the limit both positions read as 0. They then do not differ by `offset`, so the row counts as outside.
  RankedTensorType column = emitter.tileType(place.rows, 1, b.getI32Type());
  Value expected;
  if (!distance)
    expected = arith::AddIOp::create(b, here, emitter.constantInt(place.rows, 1, offset));
  else if (Value far = tile::SplatOp::create(b, column, distance); offset > 0)
    expected = arith::AddIOp::create(b, here, far);
  else
    expected = arith::SubIOp::create(b, here, far);
  inside = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, there, expected);
}

Place MovedRows::move(Place place) const {
  if (offset == 0)
    return place;
  if (!distance) {
    place.row = emitter.add(place.row, emitter.index(offset));
  } else {
    auto &b = emitter.builder();
    Value far = arith::IndexCastOp::create(b, b.getIndexType(), distance);
    place.row = offset > 0 ? emitter.add(place.row, far) : b.createOrFold<arith::SubIOp>(place.row, far);
  }
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
  // Rows past the limit are not in the sequence: `inside` makes them zero.
  Value tile = load(memory, at, at.columnLimit ? padding : Padding::Any);
  return arith::SelectOp::create(emitter.builder(), emitter.broadcast(inside, place.rows, place.columns), tile,
                                 emitter.constant(place.rows, place.columns, 0));
}

MovedRows heddle::movedRowsOf(UnfoldOp unfold, KernelEmitter &emitter, const Place &place) {
  return {emitter, emitter.memoryOf(unfold.getInput()), unfold.getPositions(), static_cast<int64_t>(unfold.getFirst()),
          place};
}

namespace {

/// Handles a single offset. `heddle-lower-windows` has replaced ops with several offsets, whose columns are blocks.
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

/// The pixels of images at a place of a grid. They are numbered row by row and image by image.
class Pixels {
public:
  /// For the rows at `place`.
  Pixels(KernelEmitter &emitter, const Place &place) : emitter(emitter), b(emitter.builder()), rows(place.rows) {}

  Value number(int64_t value) { return emitter.constantInt(rows, 1, value); }
  Value quotient(Value value, int64_t by) { return arith::DivUIOp::create(b, value, number(by)); }
  Value remainder(Value value, int64_t by) { return arith::RemUIOp::create(b, value, number(by)); }
  /// value * factor + addend.
  Value line(Value value, int64_t factor, Value addend) {
    return arith::AddIOp::create(b, arith::MulIOp::create(b, value, number(factor)), addend);
  }
  Value isEqual(Value value, int64_t to) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, value, number(to));
  }

  /// Gathers the rows of a matrix that the pixels name. In a call with images of another size a pixel may name a row
  /// that does not exist. The last row then stands in for it.
  Value gather(Value matrix, Value pixels, const Place &place) {
    Value limit = arith::IndexCastOp::create(b, b.getI32Type(), emitter.rowsOf(*Matrix::of(typeOf(matrix))));
    Value last =
        arith::SubIOp::create(b, tile::SplatOp::create(b, emitter.tileType(rows, 1, b.getI32Type()), limit), number(1));
    Value there = arith::MaxSIOp::create(b, arith::MinSIOp::create(b, pixels, last), number(0));
    return tile::GatherOp::create(b, emitter.tileType(place.rows, place.columns), emitter.memoryOf(matrix), there,
                                  place.column, place.columnLimit);
  }

private:
  KernelEmitter &emitter;
  ImplicitLocOpBuilder &b;
  int64_t rows;
};

struct SubsampleTile : TileOpInterface::ExternalModel<SubsampleTile, SubsampleOp> {
  bool readsElsewhere(Operation *, unsigned) const { return true; }

  SmallVector<Value> emitTile(Operation *operation, KernelEmitter &emitter, const Place &place) const {
    auto op = cast<SubsampleOp>(operation);
    auto width = static_cast<int64_t>(op.getWidth()), stride = static_cast<int64_t>(op.getStride());
    Pixels pixels(emitter, place);
    // Treats all images as one tall image, whose height is a multiple of the stride.
    Value number = emitter.indices(place, 0), row = pixels.quotient(number, width / stride),
          column = pixels.remainder(number, width / stride);
    Value first = pixels.number(static_cast<int64_t>(op.getRow()) * width + static_cast<int64_t>(op.getColumn()));
    Value there = pixels.line(row, stride * width, pixels.line(column, stride, first));
    return {pixels.gather(op.getInput(), there, place)};
  }
};

struct UpsampleTile : TileOpInterface::ExternalModel<UpsampleTile, UpsampleOp> {
  bool readsElsewhere(Operation *, unsigned) const { return true; }

  SmallVector<Value> emitTile(Operation *operation, KernelEmitter &emitter, const Place &place) const {
    auto op = cast<UpsampleOp>(operation);
    auto width = static_cast<int64_t>(op.getWidth()), stride = static_cast<int64_t>(op.getStride());
    Pixels pixels(emitter, place);
    Value number = emitter.indices(place, 0), row = pixels.quotient(number, width),
          column = pixels.remainder(number, width);
    Value isThere = arith::AndIOp::create(
        emitter.builder(), pixels.isEqual(pixels.remainder(row, stride), static_cast<int64_t>(op.getRow())),
        pixels.isEqual(pixels.remainder(column, stride), static_cast<int64_t>(op.getColumn())));
    Value small = pixels.line(pixels.quotient(row, stride), width / stride, pixels.quotient(column, stride));
    return {arith::SelectOp::create(emitter.builder(), emitter.broadcast(isThere, place.rows, place.columns),
                                    pixels.gather(op.getInput(), small, place),
                                    emitter.constant(place.rows, place.columns, 0))};
  }
};

} // namespace

void heddle::registerWindowTiles(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, HeddleDialect *) {
    UnfoldOp::attachInterface<UnfoldTile>(*context);
    FoldOp::attachInterface<FoldTile>(*context);
    SubsampleOp::attachInterface<SubsampleTile>(*context);
    UpsampleOp::attachInterface<UpsampleTile>(*context);
  });
}
