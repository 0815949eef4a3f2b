// Lowers the ops of matmuls of packed integers to a thread: the left operand is split into digits, which an instruction
// multiplies with the integers of the right operand.
#include "compiler/Lanes/Lanes.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

constexpr int64_t kNumberBits = 16, kWordBits = 32;
constexpr int64_t kBytes = 4; // of a word

/// Returns the order in which the columns of a register become digits, as tile.store_digits describes.
SmallVector<int64_t> orderOfDigits(int64_t columns, int64_t packed, int64_t bits) {
  int64_t ofWord = kWordBits / packed, apart = bits / packed;
  SmallVector<int64_t> order;
  for (int64_t word = 0; word < columns; word += ofWord)
    for (int64_t first = 0; first < apart; ++first)
      for (int64_t digit = 0; digit < kWordBits / bits; ++digit)
        order.push_back(word + first + digit * apart);
  return order;
}

Lowered lowerStoreDigits(LaneBuilder &b, const Lanes &, tile::StoreDigitsOp op,
                         RegistersOf<tile::StoreDigitsOp> adaptor) {
  auto type = cast<RankedTensorType>(op.getNumbers().getType());
  Registers numbers(type, adaptor.getNumbers());
  tile::LaneShape shape = numbers.shape;
  auto bits = static_cast<int64_t>(op.getBits());
  int64_t digits = kNumberBits / bits, wordsOfRun = shape.vector * bits / kWordBits;
  auto ofColumns = VectorType::get({shape.vector}, b.getI32Type());
  auto small = VectorType::get({shape.vector}, b.getIntegerType(static_cast<unsigned>(bits)));
  auto words = VectorType::get({wordsOfRun}, b.getI32Type());
  SmallVector<int64_t> order = orderOfDigits(shape.vector, static_cast<int64_t>(op.getPacked()), bits);
  for (int64_t digit = 0; digit < digits; ++digit)
    for (int64_t i = 0; i < shape.rows; ++i)
      for (int64_t run = 0; run < shape.runs; ++run) {
        Value value = numbers.at(i, run);
        if (digit + 1 < digits) { // rounded, as the digit below has a sign
          value = arith::AddIOp::create(b, value, b.constant(ofColumns, int64_t(1) << (bits - 1)));
          value = arith::ShRSIOp::create(b, value, b.constant(ofColumns, bits));
        }
        value = arith::TruncIOp::create(b, small, value);
        if (!llvm::is_sorted(order))
          value = vector::ShuffleOp::create(b, value, value, order);
        vector::StoreOp::create(b, vector::BitCastOp::create(b, words, value), op.getMemory(),
                                ValueRange{b.add(op.getRow(), digit * shape.rows + i), b.index(run * wordsOfRun)});
      }
  return SmallVector<Value>();
}

/// A register of a piece has groups of four elements. Group g of piece p has rows 4p to 4p + 3 in the order `rows`, all
/// of columns 4g to 4g + 3. Returns for each g a register with all rows in ascending order. There are two or four pieces.
SmallVector<Value> gather(LaneBuilder &b, ArrayRef<Value> pieces, ArrayRef<int64_t> rows) {
  auto columns = static_cast<int64_t>(rows.size());
  SmallVector<int64_t> placeOf(rows.size());
  for (auto [place, row] : llvm::enumerate(rows))
    placeOf[row] = static_cast<int64_t>(place);
  SmallVector<Value> registers;
  for (int64_t half = 0; half < columns / 8; ++half) {
    Value low = pieces[0], high = pieces[1];
    if (pieces.size() == 4) { // two groups of each of two pieces
      SmallVector<int64_t> halves;
      for (int64_t first : {int64_t(0), columns})
        for (int64_t i = 0; i < columns / 2; ++i)
          halves.push_back(first + half * columns / 2 + i);
      low = vector::ShuffleOp::create(b, pieces[0], pieces[1], halves);
      high = vector::ShuffleOp::create(b, pieces[2], pieces[3], halves);
    }
    for (int64_t group = 0; group < 2; ++group) {
      SmallVector<int64_t> order;
      for (int64_t place : placeOf)
        order.push_back(place / 4 * 8 + group * 4 + place % 4);
      registers.push_back(vector::ShuffleOp::create(b, low, high, order));
    }
  }
  return registers;
}

/// Returns part `part` of the words: the integers of `bits` bits that begin there in each unit of `unit` bits.
Value partOf(LaneBuilder &b, Value words, int64_t part, int64_t bits, int64_t unit) {
  if (bits == unit)
    return words;
  uint32_t mask = 0;
  for (int64_t first = 0; first < kWordBits; first += unit)
    mask |= ((1u << bits) - 1) << first;
  if (part > 0)
    words = arith::ShRUIOp::create(b, words, b.constant(words.getType(), part * bits));
  return arith::AndIOp::create(b, words, b.constant(words.getType(), mask));
}

/// Squares of a register's width are turned, in pieces of four rows. A register of bytes has four columns of each row.
Lowered lowerTurnIntegers(LaneBuilder &b, const Lanes &, tile::TurnIntegersOp op,
                          RegistersOf<tile::TurnIntegersOp> adaptor) {
  Registers words(cast<RankedTensorType>(op.getWords().getType()), adaptor.getWords());
  tile::LaneShape shape = tile::getLaneShape(op.getType());
  auto packed = static_cast<int64_t>(op.getPacked()), bits = static_cast<int64_t>(op.getBits());
  int64_t columns = shape.vector, pieces = columns / kBytes, ofBytes = bits / 8;
  auto type = cast<VectorType>(getRegisterType(op.getType()));
  auto bytes = VectorType::get({kBytes * columns}, b.getI8Type());
  // Within 128 bits: four columns of four rows become four rows of four columns.
  SmallVector<int64_t> turn;
  for (int64_t first = 0; first < kBytes * columns; first += 16)
    for (int64_t row = 0; row < kBytes; ++row)
      for (int64_t column = 0; column < kBytes; ++column)
        turn.push_back(first + kBytes * column + row);
  SmallVector<Value> registers(shape.count());
  for (int64_t from = 0; from < words.shape.runs; ++from)
    for (int64_t to = 0; to < shape.runs; ++to) {
      SmallVector<Value> turned;
      SmallVector<int64_t> rows;
      for (int64_t piece = 0; piece < pieces; ++piece) {
        int64_t parts = 8 / packed, part = piece % parts; // of a word
        Value value = partOf(b, words.at((to * pieces + piece) / parts, from), part, packed, 8);
        value = vector::BitCastOp::create(b, bytes, value);
        turned.push_back(vector::BitCastOp::create(b, type, vector::ShuffleOp::create(b, value, value, turn)));
        for (int64_t row = 0; row < kBytes; ++row)
          rows.push_back((piece / parts * kBytes + row) * parts + part);
      }
      for (auto [i, row] : llvm::enumerate(gather(b, turned, rows)))
        for (int64_t part = 0; part < ofBytes; ++part) {
          int64_t word = (from * pieces + static_cast<int64_t>(i)) * ofBytes + part;
          registers[word * shape.runs + to] = partOf(b, row, part, 8, bits);
        }
    }
  return registers;
}

} // namespace

void heddle::populateLaneIntegerPatterns(const TypeConverter &converter, const Lanes &lanes,
                                         RewritePatternSet &patterns) {
  addLowerings(patterns, converter, lanes, /*benefit=*/1, lowerStoreDigits, lowerTurnIntegers);
}
