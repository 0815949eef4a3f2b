#include "compiler/Kernel/Tiling/Frames/Dequantize.h"

#include <cmath>

using namespace mlir;
using namespace mlir::heddle;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Converts a place in a matrix to the place in its memory. If the memory has fewer columns than the matrix, it
/// consists of panels of columns, each a whole number of tiles wide. `ofWord`: the rows of the matrix in an element of
/// the memory.
static PackedPlace inPanel(KernelEmitter &emitter, RankedTensorType memory, PackedPlace at, int64_t ofWord) {
  int64_t columns = memory.getDimSize(1);
  if (at.columns <= columns)
    return at;
  auto &b = emitter.builder();
  Place &place = at.place;
  Value width = emitter.index(columns), panel = b.createOrFold<arith::DivUIOp>(place.column, width);
  Value first = emitter.mul(panel, memory.getDimSize(0) / (at.columns / columns) * ofWord);
  if (columns % place.columns != 0 || at.repeats != 1 || at.rows)
    emitter.fail() << "has weights in panels of " << columns
                   << " columns, which its tiles cross; compile the model for this target from the beginning";
  place.row = emitter.add(first, place.row);
  if (place.rowLimit)
    place.rowLimit = emitter.add(first, place.rowLimit);
  place.column = b.createOrFold<arith::RemUIOp>(place.column, width);
  place.columnLimit = {};
  return at;
}

Place heddle::placeInPanel(KernelEmitter &emitter, JoinPanelsOp joined, const Place &place) {
  PackedPlace at{place};
  at.columns = typeOf(joined.getResult()).getDimSize(1);
  return inPanel(emitter, typeOf(joined.getPanels()), at, 1).place;
}

/// Loads a tile from memory whose words hold numbers of `bits` bits. If `bits` is 0, elements are loaded as they are.
static Value read(KernelEmitter &emitter, Value matrix, const PackedPlace &whole, int64_t bits = 0,
                  bool isUnsigned = false) {
  auto &b = emitter.builder();
  PackedPlace at = inPanel(emitter, typeOf(matrix), whole, bits ? 32 / bits : 1);
  const Place &place = at.place;
  Value memory = emitter.memoryOf(matrix);
  RankedTensorType type = emitter.tileType(place.rows, place.columns, typeOf(matrix).getElementType());
  if (at.rows)
    return tile::GatherOp::create(b, type, memory, at.rows, place.column, place.columnLimit, bits, isUnsigned,
                                  at.repeats);
  return tile::LoadOp::create(b, type, memory, place.row, place.column, place.rowLimit, place.columnLimit,
                              /*any_padding=*/bits == 0, /*transposed=*/false, bits, isUnsigned, at.repeats);
}

static PackedPlace placeIn(DequantizeOp unpacked, PackedPlace at) {
  at.columns = typeOf(unpacked.getResult()).getDimSize(1);
  return at;
}

Value heddle::packedNumbers(KernelEmitter &emitter, DequantizeOp unpacked, const PackedPlace &ofResult) {
  auto &b = emitter.builder();
  PackedPlace at = placeIn(unpacked, ofResult);
  auto bits = static_cast<int64_t>(unpacked.getBits()), highBits = static_cast<int64_t>(unpacked.getHighBits());
  const Place &place = at.place;
  Value numbers = read(emitter, unpacked.getWords(), at, bits, unpacked.getIsUnsigned() || unpacked.getHigh());
  if (unpacked.getHigh()) {
    Value high = read(emitter, unpacked.getHigh(), at, highBits, unpacked.getIsUnsigned());
    high = arith::ShLIOp::create(b, high, emitter.constantInt(place.rows, place.columns, bits));
    numbers = arith::OrIOp::create(b, high, numbers);
  }
  if (unpacked.getTable())
    return tile::LookupOp::create(b, emitter.tileType(place.rows, place.columns), emitter.memoryOf(unpacked.getTable()),
                                  numbers);
  return arith::SIToFPOp::create(b, emitter.tileType(place.rows, place.columns), numbers);
}

Value heddle::packedWords(KernelEmitter &emitter, DequantizeOp unpacked, const Place &ofResult) {
  int64_t ofWord = 32 / static_cast<int64_t>(unpacked.getBits());
  Place place = inPanel(emitter, typeOf(unpacked.getWords()), placeIn(unpacked, {ofResult}), ofWord).place;
  auto words = [&](Value rows) { return emitter.builder().createOrFold<arith::DivUIOp>(rows, emitter.index(ofWord)); };
  place.row = words(place.row);
  place.rows /= ofWord;
  if (place.rowLimit)
    place.rowLimit = words(emitter.add(place.rowLimit, emitter.index(ofWord - 1)));
  return emitter.load(emitter.memoryOf(unpacked.getWords()), place);
}

std::optional<NumbersInPlace> NumbersInPlace::of(KernelEmitter &emitter, DequantizeOp unpacked, int64_t rows) {
  auto bits = static_cast<int64_t>(unpacked.getBits());
  int64_t ofWord = 32 / bits;
  if (unpacked.getHigh() || unpacked.getTable() || rows % ofWord != 0)
    return std::nullopt;
  SmallVector<float> dividing, biases;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t number = row % ofWord;
    bool isLast = number + 1 == ofWord;
    dividing.push_back(isLast ? 1 : std::ldexp(1.0f, static_cast<int>(-bits * number)));
    biases.push_back(isLast ? 0 : -std::ldexp(1.0f, static_cast<int>(bits - 1)));
  }
  auto constant = [&](ArrayRef<float> values) -> Value {
    return arith::ConstantOp::create(emitter.builder(), DenseElementsAttr::get(emitter.tileType(1, rows), values));
  };
  return NumbersInPlace{constant(dividing), unpacked.getIsUnsigned() ? Value() : constant(biases)};
}

Value NumbersInPlace::numbers(KernelEmitter &emitter, DequantizeOp unpacked, const Place &ofResult) const {
  auto &b = emitter.builder();
  Place place = inPanel(emitter, typeOf(unpacked.getWords()), placeIn(unpacked, {ofResult}),
                        32 / static_cast<int64_t>(unpacked.getBits()))
                    .place;
  Value words = tile::LoadOp::create(
      b, emitter.tileType(place.rows, place.columns, b.getI32Type()), emitter.memoryOf(unpacked.getWords()), place.row,
      place.column, place.rowLimit, place.columnLimit, /*any_padding=*/false, /*transposed=*/false,
      static_cast<int64_t>(unpacked.getBits()), unpacked.getIsUnsigned(), /*repeats=*/1, /*clamped=*/false,
      /*members=*/1, /*apart=*/0, /*in_place=*/true);
  return arith::SIToFPOp::create(b, emitter.tileType(place.rows, place.columns), words);
}

void heddle::prefetchWords(KernelEmitter &emitter, DequantizeOp unpacked, const Place &ofResult) {
  auto &b = emitter.builder();
  auto prefetch = [&](Value words, int64_t bits) {
    int64_t ofWord = 32 / bits; // rows
    Place place = inPanel(emitter, typeOf(words), placeIn(unpacked, {ofResult}), ofWord).place;
    Value first = b.createOrFold<arith::DivUIOp>(place.row, emitter.index(ofWord));
    auto rows = static_cast<int64_t>(llvm::divideCeil(place.rows, ofWord));
    emitter.prefetch(emitter.memoryOf(words), first, place.column, rows, place.columns);
  };
  prefetch(unpacked.getWords(), static_cast<int64_t>(unpacked.getBits()));
  if (unpacked.getHigh())
    prefetch(unpacked.getHigh(), static_cast<int64_t>(unpacked.getHighBits()));
}

Value heddle::beforeWidening(Value value) {
  auto widened = value.getDefiningOp<arith::ExtFOp>();
  return widened ? widened.getIn() : value;
}

void heddle::prefetchStored(KernelEmitter &emitter, Value matrix, const Place &place) {
  if (auto unpacked = matrix.getDefiningOp<DequantizeOp>())
    return prefetchWords(emitter, unpacked, place);
  Value stored = beforeWidening(matrix);
  Place at = place;
  if (auto joined = stored.getDefiningOp<JoinPanelsOp>())
    at = placeInPanel(emitter, joined, place), stored = joined.getPanels();
  if (!emitter.isInMemory(stored))
    return;
  emitter.prefetch(emitter.memoryOf(stored), at.row, at.column, at.rows, at.columns);
}

PackedPlace heddle::placeOfGroups(KernelEmitter &emitter, DequantizeOp unpacked, const PackedPlace &at) {
  auto &b = emitter.builder();
  auto [rows, columns] = unpacked.getGroup();
  PackedPlace groups = placeIn(unpacked, at);
  groups.repeats *= columns;
  groups.columns /= columns;
  if (rows == 1)
    return groups;
  if (at.rows) {
    groups.rows = arith::DivUIOp::create(b, at.rows, emitter.constantInt(at.place.rows, 1, rows));
  } else if (rows % at.place.rows == 0) {
    groups.place.row = b.createOrFold<arith::DivUIOp>(at.place.row, emitter.index(rows));
    groups.place.rows = 1;
    groups.place.rowLimit = {};
  } else {
    int64_t last = typeOf(unpacked.getResult()).getDimSize(0) / rows - 1;
    Value group = arith::DivUIOp::create(b, emitter.indices(at.place, 0), emitter.constantInt(at.place.rows, 1, rows));
    groups.rows = arith::MinUIOp::create(b, group, emitter.constantInt(at.place.rows, 1, last));
  }
  return groups;
}

/// Repeats the tile's only row for each row of `place`, or returns the tile itself.
static Value repeatRows(KernelEmitter &emitter, Value tile, const Place &place) {
  return emitter.broadcast(tile, place.rows, place.columns);
}

Value heddle::packedValues(KernelEmitter &emitter, Value matrix, const PackedPlace &at) {
  auto &b = emitter.builder();
  const Place &place = at.place;
  if (auto widened = matrix.getDefiningOp<arith::ExtFOp>(); widened && !emitter.isInMemory(matrix))
    return arith::ExtFOp::create(b, emitter.tileType(place.rows, place.columns),
                                 packedValues(emitter, widened.getIn(), at));
  auto unpacked = matrix.getDefiningOp<DequantizeOp>();
  if (!unpacked || emitter.isInMemory(matrix))
    return read(emitter, matrix, at);
  Value numbers = packedNumbers(emitter, unpacked, at);
  if (!unpacked.getScales())
    return numbers;
  PackedPlace groups = placeOfGroups(emitter, unpacked, at);
  Value scales = packedValues(emitter, unpacked.getScales(), groups);
  Value values = arith::MulFOp::create(b, numbers, repeatRows(emitter, scales, place));
  if (!unpacked.getOffsets())
    return values;
  Value offsets = packedValues(emitter, unpacked.getOffsets(), groups);
  return arith::AddFOp::create(b, values, repeatRows(emitter, offsets, place));
}
