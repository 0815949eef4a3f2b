// Lowers the ops of matmuls of packed integers to a thread: the left operand is split into bytes, which an instruction
// multiplies with the bytes of the right operand.
#include "compiler/Lanes/Lanes.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

constexpr int64_t kDigits = 3, kDigitBits = 7, kBytes = 4; // bytes: of a word
/// Registers of packed integers are turned in squares of 16 elements, four pieces of four rows each.
constexpr int64_t kColumns = 16, kPieces = 4;

/// Returns the order in which the columns of a register become bytes, as tile.store_digits describes.
SmallVector<int64_t> orderOfBytes(int64_t columns, int64_t bits) {
  int64_t ofWord = 32 / bits, apart = 8 / bits;
  SmallVector<int64_t> order;
  for (int64_t word = 0; word < columns; word += ofWord)
    for (int64_t first = 0; first < apart; ++first)
      for (int64_t byte = 0; byte < kBytes; ++byte)
        order.push_back(word + first + byte * apart);
  return order;
}

Lowered lowerStoreDigits(LaneBuilder &b, const Lanes &, tile::StoreDigitsOp op,
                         RegistersOf<tile::StoreDigitsOp> adaptor) {
  auto type = cast<RankedTensorType>(op.getNumbers().getType());
  Registers numbers(type, adaptor.getNumbers());
  tile::LaneShape shape = numbers.shape;
  auto ofColumns = VectorType::get({shape.vector}, b.getI32Type());
  auto bytes = VectorType::get({shape.vector}, b.getI8Type());
  auto words = VectorType::get({shape.vector / kBytes}, b.getI32Type());
  SmallVector<int64_t> order = orderOfBytes(shape.vector, static_cast<int64_t>(op.getPacked()));
  for (int64_t digit = 0; digit < kDigits; ++digit)
    for (int64_t i = 0; i < shape.rows; ++i)
      for (int64_t run = 0; run < shape.runs; ++run) {
        Value value = numbers.at(i, run);
        if (int64_t down = (kDigits - 1 - digit) * kDigitBits)
          value = arith::ShRSIOp::create(b, value, b.constant(ofColumns, down));
        if (digit > 0)
          value = arith::AndIOp::create(b, value, b.constant(ofColumns, (1 << kDigitBits) - 1));
        value = arith::TruncIOp::create(b, bytes, value);
        if (!llvm::is_sorted(order))
          value = vector::ShuffleOp::create(b, value, value, order);
        vector::StoreOp::create(
            b, vector::BitCastOp::create(b, words, value), op.getMemory(),
            ValueRange{b.add(op.getRow(), digit * shape.rows + i), b.index(run * shape.vector / kBytes)});
      }
  return SmallVector<Value>();
}

/// Group g of four elements of piece p has rows 4p to 4p + 3 in the order `rows`, all of columns 4g to 4g + 3. Returns
/// for each g a register with all rows in ascending order.
SmallVector<Value> gather(LaneBuilder &b, ArrayRef<Value> pieces, ArrayRef<int64_t> rows) {
  SmallVector<int64_t> placeOf(kColumns);
  for (auto [place, row] : llvm::enumerate(rows))
    placeOf[row] = static_cast<int64_t>(place);
  SmallVector<Value> registers;
  for (int64_t half = 0; half < 2; ++half) {
    // Two groups of each of two pieces.
    SmallVector<int64_t> halves;
    for (int64_t first : {int64_t(0), kColumns})
      for (int64_t i = 0; i < kColumns / 2; ++i)
        halves.push_back(first + half * kColumns / 2 + i);
    Value low = vector::ShuffleOp::create(b, pieces[0], pieces[1], halves);
    Value high = vector::ShuffleOp::create(b, pieces[2], pieces[3], halves);
    for (int64_t group = 0; group < 2; ++group) {
      SmallVector<int64_t> order;
      for (int64_t place : placeOf)
        order.push_back(place / 4 * 8 + group * 4 + place % 4);
      registers.push_back(vector::ShuffleOp::create(b, low, high, order));
    }
  }
  return registers;
}

Lowered lowerTurnBytes(LaneBuilder &b, const Lanes &, tile::TurnBytesOp op, RegistersOf<tile::TurnBytesOp> adaptor) {
  Registers words(cast<RankedTensorType>(op.getWords().getType()), adaptor.getWords());
  tile::LaneShape shape = tile::getLaneShape(op.getType());
  auto bits = static_cast<int64_t>(op.getPacked());
  auto type = cast<VectorType>(getRegisterType(op.getType()));
  auto bytes = VectorType::get({kBytes * kColumns}, b.getI8Type());
  // Within 128 bits: four columns of four rows become four rows of four columns.
  SmallVector<int64_t> turn;
  for (int64_t first = 0; first < kBytes * kColumns; first += 16)
    for (int64_t row = 0; row < kBytes; ++row)
      for (int64_t column = 0; column < kBytes; ++column)
        turn.push_back(first + kBytes * column + row);
  SmallVector<Value> registers(shape.count());
  for (int64_t from = 0; from < words.shape.runs; ++from)
    for (int64_t to = 0; to < shape.runs; ++to) {
      SmallVector<Value> pieces;
      SmallVector<int64_t> rows;
      for (int64_t piece = 0; piece < kPieces; ++piece) {
        int64_t parts = 8 / bits, part = piece % parts; // of a word
        Value value = words.at((to * kPieces + piece) / parts, from);
        if (part > 0)
          value = arith::ShRUIOp::create(b, value, b.constant(type, part * bits));
        if (bits < 8)
          value = arith::AndIOp::create(b, value, b.constant(type, ((1 << bits) - 1) * 0x01010101));
        value = vector::BitCastOp::create(b, bytes, value);
        pieces.push_back(vector::BitCastOp::create(b, type, vector::ShuffleOp::create(b, value, value, turn)));
        for (int64_t row = 0; row < kBytes; ++row)
          rows.push_back((piece / parts * kBytes + row) * parts + part);
      }
      for (auto [i, row] : llvm::enumerate(gather(b, pieces, rows)))
        registers[(from * kPieces + static_cast<int64_t>(i)) * shape.runs + to] = row;
    }
  return registers;
}

} // namespace

void heddle::populateLaneBytePatterns(const TypeConverter &converter, const Lanes &lanes, RewritePatternSet &patterns) {
  addLowerings(patterns, converter, lanes, /*benefit=*/1, lowerStoreDigits, lowerTurnBytes);
}
