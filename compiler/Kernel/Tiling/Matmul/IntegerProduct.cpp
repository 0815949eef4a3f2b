#include "compiler/Kernel/Tiling/Matmul/IntegerProduct.h"

#include "compiler/Kernel/Tiling/Frames/Dequantize.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;
using namespace mlir::heddle;

/// The bits of an element of the left operand, and of a word.
static constexpr int64_t kNumberBits = 16, kWordBits = 32;
/// The largest such element whose two bytes have signs. Targets that multiply 16 bits have the same limit, so that all
/// targets round in the same way. The sums of a step fit an i32, with bytes on the right that are unsigned.
static constexpr int64_t kLargest = (int64_t(1) << (kNumberBits - 1)) - 129;
static_assert(IntegerProduct::kStep * kLargest * 255 <= std::numeric_limits<int32_t>::max());
/// The rows of the right operand that a loop multiplies at a time if there are several rows on the left. In a whole step,
/// LLVM may go through one row after another, and then spills the integers of the right operand.
static constexpr int64_t kPart = 8;

bool IntegerProduct::isPossible(const TargetProfile &profile, DequantizeOp unpacked, bool isTransposed) {
  uint64_t bits = unpacked.getBits();
  int64_t panel = unpacked.getPanel();
  bool isWide = panel > profile.weightPanel && panel < unpacked.getResult().getType().getDimSize(1);
  auto [along, across] = unpacked.getGroup();
  if (isTransposed)
    std::swap(along, across);
  return profile.dotBits > 0 && (bits == 8 || bits == 4) && !unpacked.getHigh() && !unpacked.getTable() &&
         unpacked.getScales() && along % kStep == 0 && across == 1 &&
         (isTransposed || panel == profile.vector || isWide);
}

IntegerProduct::IntegerProduct(KernelEmitter &emitter, DequantizeOp unpacked, int64_t rows, int64_t depth,
                               bool isTransposed)
    : emitter(emitter), unpacked(unpacked), rows(rows), depth(depth), bits(static_cast<int64_t>(unpacked.getBits())),
      unit(emitter.getProfile().dotBits), digitCount(kNumberBits / unit), words(kStep * unit / kWordBits),
      bias(unpacked.getIsUnsigned() ? 0 : int64_t(1) << (bits - 1)), isTransposed(isTransposed) {
  auto &b = emitter.builder();
  int64_t steps = depth / kStep;
  digits = emitter.sharedTile(emitter.tileType(digitCount * rows, words, b.getI32Type()), steps);
  scales = emitter.sharedTile(emitter.tileType(rows, steps));
  if (bias > 0)
    starts = emitter.sharedTile(emitter.tileType(rows, steps, b.getI32Type()));
  if (unpacked.getOffsets())
    totals = emitter.sharedTile(emitter.tileType(rows, steps));
}

Place IntegerProduct::columnOf(Value k) const {
  Value step = emitter.builder().createOrFold<arith::DivUIOp>(k, emitter.index(kStep));
  return {emitter.index(0), step, rows, 1, {}, {}};
}

void IntegerProduct::split(Value key, function_ref<Value(Value)> left) {
  auto &b = emitter.builder();
  OpBuilder::InsertionGuard guard(b);
  if (isa<tile::FuncOp>(b.getInsertionBlock()->getParentOp())) {
    auto branch = scf::IfOp::create(b, tile::ChangedOp::create(b, key), /*withElseRegion=*/false);
    b.setInsertionPointToStart(branch.thenBlock());
  }
  RankedTensorType integers = emitter.tileType(rows, kStep, b.getI32Type());
  auto splitStep = [&](Value k) {
    Value x = left(k);
    Place column = columnOf(k);
    auto keep = [&](Value tile, Value memory) { tile::StoreOp::create(b, tile, memory, column.row, column.column); };
    // The largest |x|. As an integer NaN is larger than infinity: neither is lost, and the results are NaN.
    Value magnitude = arith::AndIOp::create(b, arith::BitcastOp::create(b, integers, x),
                                            emitter.constantInt(rows, kStep, 0x7fffffff));
    Value most =
        arith::BitcastOp::create(b, emitter.tileType(rows, 1), emitter.reduce(tile::Combine::Max, magnitude, 1));
    Value scale = arith::MulFOp::create(b, most, emitter.constant(rows, 1, 1.0 / kLargest));
    keep(scale, scales);
    Value factor = arith::DivFOp::create(b, emitter.constant(rows, 1, kLargest), most);
    Value scaled = arith::MulFOp::create(b, x, emitter.broadcast(factor, rows, kStep));
    Value numbers = arith::FPToSIOp::create(b, integers, math::RoundEvenOp::create(b, scaled));
    tile::StoreDigitsOp::create(b, numbers, digits, emitter.mul(column.column, digitCount * rows), unit,
                                isTransposed ? 8 : bits);
    if (!starts && !totals)
      return;
    Value sum = emitter.reduce(tile::Combine::Sum, numbers, 1);
    if (starts)
      keep(arith::MulIOp::create(b, sum, emitter.constantInt(rows, 1, -bias)), starts);
    if (totals) // of the rounded elements, so that an offset takes away just what the numbers have too much
      keep(arith::MulFOp::create(b, scale, arith::SIToFPOp::create(b, emitter.tileType(rows, 1), sum)), totals);
  };
  emitter.loop(emitter.index(0), emitter.index(depth), kStep, depth, splitStep);
}

Value IntegerProduct::total(Value k) const {
  return totals ? emitter.load(totals, columnOf(k), Padding::Any) : Value();
}

/// A tile of words whose parts of `bits` bits are all equal.
static Value repeat(KernelEmitter &emitter, Value like, uint32_t part, int64_t bits) {
  auto type = cast<RankedTensorType>(like.getType());
  uint32_t word = 0;
  for (int64_t first = 0; first < kWordBits; first += bits)
    word |= part << first;
  return emitter.constantInt(type.getDimSize(0), type.getDimSize(1), static_cast<int32_t>(word));
}

/// Returns the words of the numbers at a place, with the bias added to each number.
Value IntegerProduct::unsignedWords(const Place &place) const {
  Value packed = packedWords(emitter, unpacked, place);
  if (bias == 0)
    return packed;
  return arith::XOrIOp::create(emitter.builder(), packed, repeat(emitter, packed, static_cast<uint32_t>(bias), bits));
}

/// Returns a step's numbers, or a part of them, as integers of `unit` bits in the order of the digits: tiles of words.
SmallVector<Value> IntegerProduct::integersAt(const Place &place) const {
  auto &b = emitter.builder();
  if (isTransposed) {
    RankedTensorType type = emitter.tileType(words, place.rows, b.getI32Type());
    return {tile::TurnIntegersOp::create(b, type, unsignedWords(place), bits, unit)};
  }
  if (bits == unit)
    return {unsignedWords(place)};
  SmallVector<Value> integers;
  int64_t ofWord = kWordBits / bits;
  for (int64_t row = 0; row < place.rows; row += ofWord) {
    Value packed = unsignedWords({emitter.add(place.row, emitter.index(row)), place.column, ofWord, place.columns});
    for (int64_t shift = 0; shift < unit; shift += bits) {
      Value shifted = packed;
      if (shift > 0)
        shifted = arith::ShRUIOp::create(b, packed, emitter.constantInt(1, place.columns, shift));
      integers.push_back(arith::AndIOp::create(b, shifted, repeat(emitter, packed, (1u << bits) - 1, unit)));
    }
  }
  return integers;
}

SmallVector<Value> IntegerProduct::digitsAt(Value k, Value first, int64_t count) const {
  auto &b = emitter.builder();
  SmallVector<Value> left;
  Value from = b.createOrFold<arith::DivUIOp>(first, emitter.index(kWordBits / unit));
  int64_t all = count * unit / kWordBits, ofTile = isTransposed || bits == unit ? all : 1;
  Value firstRow = emitter.mul(columnOf(k).column, digitCount * rows);
  for (int64_t digit = 0; digit < digitCount; ++digit) {
    Value row = emitter.add(firstRow, emitter.index(digit * rows));
    for (int64_t word = 0; word < all; word += ofTile) {
      Value column = emitter.add(from, emitter.index(word));
      left.push_back(emitter.load(digits, {row, column, rows, ofTile, {}, {}}, Padding::Any));
    }
  }
  return left;
}

Value IntegerProduct::begin(Value k, int64_t columns) const {
  Value none = emitter.constantInt(rows, columns, 0);
  return starts ? emitter.broadcast(emitter.load(starts, columnOf(k), Padding::Any), rows, columns) : none;
}

Value IntegerProduct::add(ArrayRef<Value> left, const Place &place, Value sums) const {
  auto &b = emitter.builder();
  SmallVector<Value> integers = integersAt(place);
  int64_t columns = isTransposed ? place.rows : place.columns;
  Value none = emitter.constantInt(rows, columns, 0), all = none;
  for (int64_t digit = 0; digit < digitCount; ++digit) {
    if (digit > 0)
      all = arith::ShLIOp::create(b, all, emitter.constantInt(rows, columns, unit));
    if (digit + 1 == digitCount)
      all = arith::AddIOp::create(b, all, sums);
    // A dot waits for the one before that adds to the same register. A single row has too few for one chain of dots.
    bool isApart = rows == 1 && digit > 0;
    Value ofDigit = isApart ? none : all;
    for (Value tile : integers) {
      ofDigit = tile::DotOp::create(b, none.getType(), left.front(), tile, ofDigit, /*transpose_lhs=*/false,
                                    /*transpose_rhs=*/false, unit);
      left = left.drop_front();
    }
    all = isApart ? arith::AddIOp::create(b, all, ofDigit).getResult() : ofDigit;
  }
  return all;
}

Value IntegerProduct::finish(Value k, Value sums) const {
  auto &b = emitter.builder();
  auto type = cast<RankedTensorType>(sums.getType());
  Value scale = emitter.load(scales, columnOf(k), Padding::Any);
  return arith::MulFOp::create(b, arith::SIToFPOp::create(b, type.clone(b.getF32Type()), sums),
                               emitter.broadcast(scale, rows, type.getDimSize(1)));
}

Value IntegerProduct::multiply(Value k, const Place &place) const {
  Value sums = begin(k, isTransposed ? place.rows : place.columns);
  if (rows == 1 || isTransposed || digitCount > 1) // a part with several digits would shift the sums once more
    return finish(k, add(digitsAt(k, emitter.index(0), kStep), place, sums));
  auto addPart = [&](Value first, ValueRange state) -> SmallVector<Value> {
    Place part{emitter.add(place.row, first), place.column, kPart, place.columns};
    return {add(digitsAt(k, first, kPart), part, state[0])};
  };
  return finish(k, emitter.loop(emitter.index(0), emitter.index(kStep), kPart, kStep, sums, addPart)[0]);
}
