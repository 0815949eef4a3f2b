// The part of ProductFrame for matmuls whose right side is packed numbers.
// If a sum of products has one scale, the scale multiplies the sum. If it has one offset, the offset multiplies the sum
// of the left side's numbers.
#include "compiler/Kernel/Tiling/Matmul/ProductFrame.h"

#include "compiler/Kernel/Tiling/Frames/Dequantize.h"

using namespace mlir;
using namespace mlir::heddle;

/// The steps by which words of a panel are prefetched before they are used, for a single row.
static constexpr int64_t kStepsAheadOfRow = 4;
/// The same in a panel of a single vector, for several rows and for one.
static constexpr int64_t kByteStepsAhead = 8, kByteStepsAheadOfRow = 4;
/// The same in a wide panel, in rows of words. All words are read in the order in which they lie in memory.
static constexpr int64_t kWordsAhead = 4;

/// Returns true if each column of the result has a scale and no offset.
bool ProductFrame::hasScalesOfColumns(DequantizeOp unpacked) const {
  auto [rows, columns] = unpacked.getGroup();
  ArrayRef<int64_t> shape = unpacked.getResult().getType().getShape();
  bool ofColumns = transposeRhs ? rows == 1 && columns == shape[1] : rows == shape[0] && columns == 1;
  return unpacked.getScales() && !unpacked.getOffsets() && emitter.isInMemory(unpacked.getScales()) && !transposeLhs &&
         ofColumns;
}

Value ProductFrame::scaleColumns(Value total, DequantizeOp unpacked) const {
  Value zero = emitter.index(0), memory = emitter.memoryOf(unpacked.getScales());
  Place place = transposeRhs ? Place{tile.column, zero, tile.columns, 1, tile.columnLimit, {}}
                             : Place{zero, tile.column, 1, tile.columns, {}, tile.columnLimit};
  Value scales = emitter.load(memory, place, Padding::Any, transposeRhs);
  return arith::MulFOp::create(emitter.builder(), total, emitter.broadcast(scales, tile.rows, tile.columns));
}

/// Returns true if each column of a step of `length` rows has one scale. Offsets also need the sum of the left side's
/// elements, which only a thread has at hand, and only if a step is whole vectors.
bool ProductFrame::isWithinGroup(DequantizeOp unpacked, int64_t length) const {
  auto [rows, columns] = unpacked.getGroup();
  return unpacked.getScales() && !transposeLhs && !transposeRhs && columns == 1 && rows % length == 0 &&
         (!unpacked.getOffsets() || (isOfThread() && length % emitter.getVector() == 0));
}

Value ProductFrame::dot(Value left, Value right, Value start) const {
  return tile::DotOp::create(emitter.builder(), start.getType(), left, right, start, /*transpose_lhs=*/false,
                             /*transpose_rhs=*/false);
}

/// Returns the sum of each row of the left side, which an offset multiplies. Null if there are no offsets.
Value ProductFrame::totalOf(Value left, DequantizeOp unpacked) const {
  return unpacked.getOffsets() ? emitter.reduce(tile::Combine::Sum, left, 1) : Value();
}

/// Adds the product of the left side and the numbers at `place`, with their scales and offsets.
Value ProductFrame::addGroup(Value sum, Value product, Value total, DequantizeOp unpacked, const Place &place) const {
  auto &b = emitter.builder();
  PackedPlace group = placeOfGroups(emitter, unpacked, {place});
  auto wide = [&](Value part) { return emitter.broadcast(part, tile.rows, tile.columns); };
  Value scales = packedValues(emitter, unpacked.getScales(), group);
  Value scaled = arith::MulFOp::create(b, product, wide(scales));
  sum = arith::AddFOp::create(b, sum, scaled);
  if (!unpacked.getOffsets())
    return sum;
  Value offsets = packedValues(emitter, unpacked.getOffsets(), group);
  return arith::AddFOp::create(b, sum, arith::MulFOp::create(b, wide(total), wide(offsets)));
}

/// Multiplies the left side by packed integers without unpacking them, and adds the result to the sums of all tiles.
void ProductFrame::addIntegers(Value lhs, DequantizeOp unpacked, Value shift, bool scalesAll) {
  constexpr int64_t step = IntegerProduct::kStep;
  tile = streamed->anyTile();
  IntegerProduct integers(emitter, unpacked, tile.rows, depth, /*isTransposed=*/false);
  integers.split(tile.row, [&](Value k) {
    Place place{tile.row, k, tile.rows, step, tile.rowLimit, {}};
    return emitter.widen(emitter.evaluate(lhs, place, Padding::Zero));
  });
  auto numbersAt = [&](Value k, int64_t first, int64_t count) {
    Value row = emitter.add(k, emitter.index(first));
    return Place{shift ? emitter.add(row, shift) : row, tile.column, count, tile.columns, {}, {}};
  };
  auto prefetch = [&](Place numbers, int64_t rowsAhead) {
    numbers.row = emitter.add(numbers.row, emitter.index(rowsAhead));
    prefetchWords(emitter, unpacked, numbers);
  };
  auto addStep = [&](Value sum, Value product, Value k) {
    return scalesAll ? arith::AddFOp::create(emitter.builder(), sum, product).getResult()
                     : addGroup(sum, product, integers.total(k), unpacked, numbersAt(k, 0, step));
  };
  if (streamed->isWide()) {
    Value unfinished = streamed->scratch(emitter.builder().getI32Type()); // sums of the words so far of a step
    int64_t ofWord = 32 / static_cast<int64_t>(unpacked.getBits());
    auto add = [&](Value k, ValueRange) -> SmallVector<Value> {
      for (int64_t first = 0; first < step; first += ofWord) {
        SmallVector<Value> left = integers.digitsAt(k, emitter.index(first), ofWord);
        Value start = first == 0 ? integers.begin(k, tile.columns) : Value();
        streamed->forTiles([&](const Place &place) -> Value {
          tile = place;
          Place words = numbersAt(k, first, ofWord);
          prefetch(words, kWordsAhead * ofWord);
          Value sums = integers.add(left, words, start ? start : streamed->load(unfinished));
          if (first + ofWord == step)
            return addStep(streamed->sums(), integers.finish(k, sums), k);
          streamed->store(sums, unfinished);
          return {};
        });
      }
      return {};
    };
    emitter.loop(begin, end, step, depth, {}, add);
    return;
  }
  streamed->forTiles([&](const Place &place) -> Value {
    tile = place;
    auto add = [&](Value k, ValueRange state) -> SmallVector<Value> {
      Place numbers = numbersAt(k, 0, step);
      prefetch(numbers, (tile.rows > 1 ? kByteStepsAhead : kByteStepsAheadOfRow) * step);
      return {addStep(state[0], integers.multiply(k, numbers), k)};
    };
    return emitter.loop(begin, end, step, depth, streamed->sums(), add)[0];
  });
}

/// Multiplies a step's left side by the packed numbers in the step's rows, and adds the result to the sums of all
/// tiles. The numbers have one scale for each column. If there are several rows, the left side is read from scratch
/// memory, and words are unpacked one at a time.
void ProductFrame::addStreamed(Value left, DequantizeOp unpacked, const Place &step, bool scalesAll) {
  auto &b = emitter.builder();
  int64_t rows = tile.rows, length = step.rows;
  std::optional<NumbersInPlace> inPlace;
  if (length % emitter.getVector() == 0) // the biases multiply the sum of the left side's elements
    inPlace = NumbersInPlace::of(emitter, unpacked, length);
  Value total = scalesAll ? Value() : totalOf(left, unpacked), bias, kept;
  if (inPlace) {
    auto times = [&](Value row) {
      return arith::MulFOp::create(b, left, emitter.broadcast(row, rows, length)).getResult();
    };
    if (inPlace->biases)
      bias = emitter.reduce(tile::Combine::Sum, times(inPlace->biases), 1);
    left = times(inPlace->dividing);
  }
  int64_t part = length;
  if ((rows > 1 || streamed->isPanel()) && length > kPackedStep)
    part = inPlace ? 32 / static_cast<int64_t>(unpacked.getBits()) : kPackedStep;
  if (part < length) {
    kept = emitter.sharedTile(cast<RankedTensorType>(left.getType()));
    tile::StoreOp::create(b, left, kept, emitter.index(0), emitter.index(0));
  }
  auto placeAt = [&](Value row, int64_t count) {
    return Place{row, tile.column, count, tile.columns, step.rowLimit, tile.columnLimit};
  };
  auto ahead = [&](const Place &place, int64_t rows) {
    return Place{emitter.add(place.row, emitter.index(rows)), place.column, place.rows, place.columns, {}, {}};
  };
  auto add = [&](Value start, Value left, const Place &place) {
    return dot(left, inPlace ? inPlace->numbers(emitter, unpacked, place) : packedNumbers(emitter, unpacked, {place}),
               start);
  };
  auto loadKept = [&](Value row) {
    return emitter.load(kept, {emitter.index(0), row, rows, part, {}, {}}, Padding::Any);
  };
  Value none = emitter.constant(rows, 1, 0);
  auto startOf = [&](Value bias) {
    return bias == none ? emitter.constant(rows, tile.columns, 0) : emitter.broadcast(bias, rows, tile.columns);
  };
  auto addSums = [&](Value all, Value total) {
    return scalesAll ? arith::AddFOp::create(b, streamed->sums(), all).getResult()
                     : addGroup(streamed->sums(), all, total, unpacked, placeAt(step.row, length));
  };
  if (!bias)
    bias = none;
  if (kept && streamed->isWide()) {
    // The sum of all parts has the bias and the offset only once, so they go to the first part.
    SmallVector<Value> first{bias};
    if (total)
      first.push_back(total);
    emitter.loop(emitter.index(0), emitter.index(length), part, length, first,
                 [&](Value row, ValueRange state) -> SmallVector<Value> {
                   Value left = loadKept(row), start = state[0], totalOfPart = total ? state[1] : Value();
                   streamed->forTiles([&](const Place &place) -> Value {
                     tile = place;
                     Place words = placeAt(emitter.add(step.row, row), part);
                     prefetchWords(emitter, unpacked, ahead(words, kWordsAhead * part));
                     return addSums(add(startOf(start), left, words), totalOfPart);
                   });
                   return SmallVector<Value>(first.size(), none);
                 });
    return;
  }
  streamed->forTiles([&](const Place &place) -> Value {
    tile = place;
    if (!streamed->isPanel())
      prefetchWords(emitter, unpacked, ahead(placeAt(step.row, length), (kept ? 1 : kStepsAhead) * length));
    Value all = startOf(bias);
    if (!kept)
      all = add(all, left, placeAt(step.row, length));
    else
      all = emitter.loop(emitter.index(0), emitter.index(length), part, length, all,
                         [&](Value row, ValueRange state) -> SmallVector<Value> {
                           Value left = loadKept(row);
                           Place words = placeAt(emitter.add(step.row, row), part);
                           if (streamed->isPanel())
                             prefetchWords(emitter, unpacked,
                                           ahead(words, (rows > 1 ? kStepsAhead : kStepsAheadOfRow) * length));
                           return {add(state[0], left, words)};
                         })[0];
    return addSums(all, total);
  });
}
