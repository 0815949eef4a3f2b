#include "compiler/Kernel/Tiling/Matmul/ByteProduct.h"

#include "compiler/Kernel/Tiling/Frames/Dequantize.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;
using namespace mlir::heddle;

/// The bytes of a number, the bits in each of them, and the words of a step.
static constexpr int64_t kDigits = 3, kDigitBits = 7, kWords = ByteProduct::kStep / 4;

bool ByteProduct::isPossible(const TargetProfile &profile, DequantizeOp unpacked, bool isTransposed) {
  return profile.dotsBytes && (unpacked.getBits() == 8 || unpacked.getBits() == 4) && !unpacked.getHigh() &&
         !unpacked.getTable() && (isTransposed || unpacked.getPanel() == profile.vector);
}

bool ByteProduct::isUsed(const TargetProfile &profile, KernelOp kernel) {
  auto products = kernel.getBody().getOps<MatmulOp>();
  return !products.empty() && llvm::all_of(products, [&](MatmulOp product) {
    auto unpacked = product.getRhs().getDefiningOp<DequantizeOp>();
    return unpacked && !product.getTransposeLhs() && !product.getTransposeRhs() &&
           isPossible(profile, unpacked, /*isTransposed=*/false);
  });
}

ByteProduct::ByteProduct(KernelEmitter &emitter, DequantizeOp unpacked, int64_t rows, int64_t depth, bool isTransposed)
    : emitter(emitter), unpacked(unpacked), rows(rows), depth(depth), bits(static_cast<int64_t>(unpacked.getBits())),
      bias(unpacked.getIsUnsigned() ? 0 : int64_t(1) << (bits - 1)), isTransposed(isTransposed) {
  auto &b = emitter.builder();
  int64_t steps = depth / kStep;
  digits = emitter.sharedTile(emitter.tileType(kDigits * rows, kWords, b.getI32Type()), steps);
  scales = emitter.sharedTile(emitter.tileType(rows, steps));
  if (bias > 0)
    starts = emitter.sharedTile(emitter.tileType(rows, steps, b.getI32Type()));
  if (unpacked.getOffsets())
    totals = emitter.sharedTile(emitter.tileType(rows, steps));
}

/// Returns the largest |q|: the digits must hold it, and an i32 the sums of a step.
static int64_t largestOf(int64_t bits, bool isUnsigned) {
  int64_t ofDigits = (int64_t(1) << kDigits * kDigitBits) - 1; // the first digit has a sign besides
  int64_t largestNumber = int64_t(1) << (isUnsigned ? bits : bits - 1);
  return std::min<int64_t>(ofDigits, std::numeric_limits<int32_t>::max() / (ByteProduct::kStep * largestNumber));
}

Place ByteProduct::columnOf(Value k) const {
  Value step = emitter.builder().createOrFold<arith::DivUIOp>(k, emitter.index(kStep));
  return {emitter.index(0), step, rows, 1, {}, {}};
}

void ByteProduct::split(Value key, function_ref<Value(Value)> left) {
  auto &b = emitter.builder();
  OpBuilder::InsertionGuard guard(b);
  if (isa<tile::FuncOp>(b.getInsertionBlock()->getParentOp())) {
    auto branch = scf::IfOp::create(b, tile::ChangedOp::create(b, key), /*withElseRegion=*/false);
    b.setInsertionPointToStart(branch.thenBlock());
  }
  auto largest = static_cast<double>(largestOf(bits, unpacked.getIsUnsigned()));
  RankedTensorType integers = emitter.tileType(rows, kStep, b.getI32Type());
  auto splitStep = [&](Value k, ValueRange) -> SmallVector<Value> {
    Value x = left(k);
    Place column = columnOf(k);
    auto keep = [&](Value tile, Value memory) { tile::StoreOp::create(b, tile, memory, column.row, column.column); };
    // The largest |x|. As an integer NaN is larger than infinity: neither is lost, and the results are NaN.
    Value magnitude = arith::AndIOp::create(b, arith::BitcastOp::create(b, integers, x),
                                            emitter.constantInt(rows, kStep, 0x7fffffff));
    Value most =
        arith::BitcastOp::create(b, emitter.tileType(rows, 1), emitter.reduce(tile::Combine::Max, magnitude, 1));
    Value scale = arith::MulFOp::create(b, most, emitter.constant(rows, 1, 1 / largest));
    keep(scale, scales);
    Value factor = arith::DivFOp::create(b, emitter.constant(rows, 1, largest), most);
    Value scaled = arith::MulFOp::create(b, x, emitter.broadcast(factor, rows, kStep));
    Value numbers = arith::FPToSIOp::create(b, integers, math::RoundEvenOp::create(b, scaled));
    tile::StoreDigitsOp::create(b, numbers, digits, emitter.mul(column.column, kDigits * rows),
                                isTransposed ? 8 : bits);
    if (!starts && !totals)
      return {};
    Value sum = emitter.reduce(tile::Combine::Sum, numbers, 1);
    if (starts)
      keep(arith::MulIOp::create(b, sum, emitter.constantInt(rows, 1, -bias)), starts);
    if (totals) // of the rounded elements, so that an offset takes away just what the numbers have too much
      keep(arith::MulFOp::create(b, scale, arith::SIToFPOp::create(b, emitter.tileType(rows, 1), sum)), totals);
    return {};
  };
  emitter.loop(emitter.index(0), emitter.index(depth), kStep, depth, {}, splitStep);
}

Value ByteProduct::total(Value k) const { return totals ? emitter.load(totals, columnOf(k), Padding::Any) : Value(); }

/// A tile whose bytes are all equal.
static Value repeatByte(KernelEmitter &emitter, Value like, uint32_t byte) {
  auto type = cast<RankedTensorType>(like.getType());
  return emitter.constantInt(type.getDimSize(0), type.getDimSize(1), static_cast<int32_t>(byte * 0x01010101u));
}

/// Returns the words of the numbers at a place, with the bias added to each number.
Value ByteProduct::unsignedWords(const Place &place) const {
  Value words = packedWords(emitter, unpacked, place);
  if (bias == 0)
    return words;
  return arith::XOrIOp::create(emitter.builder(), words, repeatByte(emitter, words, bits == 8 ? 0x80 : 0x88));
}

/// Returns a step's numbers as bytes, in the order of the digits: tiles with all of its words.
SmallVector<Value> ByteProduct::bytesAt(const Place &place) const {
  auto &b = emitter.builder();
  if (isTransposed) {
    RankedTensorType type = emitter.tileType(kWords, place.rows, b.getI32Type());
    return {tile::TurnBytesOp::create(b, type, unsignedWords(place), bits)};
  }
  if (bits == 8)
    return {unsignedWords(place)};
  SmallVector<Value> bytes;
  int64_t ofWord = 32 / bits;
  for (int64_t row = 0; row < kStep; row += ofWord) {
    Value words = unsignedWords({emitter.add(place.row, emitter.index(row)), place.column, ofWord, place.columns});
    for (int64_t shift = 0; shift < 8; shift += bits) {
      Value shifted = words;
      if (shift > 0)
        shifted = arith::ShRUIOp::create(b, words, emitter.constantInt(1, place.columns, shift));
      bytes.push_back(arith::AndIOp::create(b, shifted, repeatByte(emitter, words, (1u << bits) - 1)));
    }
  }
  return bytes;
}

Value ByteProduct::multiply(Value k, const Place &place) const {
  auto &b = emitter.builder();
  SmallVector<Value> bytes = bytesAt(place);
  int64_t columns = isTransposed ? place.rows : place.columns, ofTile = kWords / static_cast<int64_t>(bytes.size());
  Value firstRow = emitter.mul(columnOf(k).column, kDigits * rows);
  Value none = emitter.constantInt(rows, columns, 0), all = none;
  for (int64_t digit = 0; digit < kDigits; ++digit) {
    if (digit > 0)
      all = arith::ShLIOp::create(b, all, emitter.constantInt(rows, columns, kDigitBits));
    if (starts && digit + 1 == kDigits) {
      Value start = emitter.load(starts, columnOf(k), Padding::Any);
      all = arith::AddIOp::create(b, all, emitter.broadcast(start, rows, columns));
    }
    // A dot waits for the one before that adds to the same register. A single row has too few for one chain of dots.
    bool isApart = rows == 1 && digit > 0;
    Value sums = isApart ? none : all, row = emitter.add(firstRow, emitter.index(digit * rows));
    for (auto [i, tile] : llvm::enumerate(bytes)) {
      Value word = emitter.index(static_cast<int64_t>(i) * ofTile);
      Value left = emitter.load(digits, {row, word, rows, ofTile, {}, {}}, Padding::Any);
      sums = tile::DotOp::create(b, sums.getType(), left, tile, sums, /*transpose_lhs=*/false, /*transpose_rhs=*/false);
    }
    all = isApart ? arith::AddIOp::create(b, all, sums).getResult() : sums;
  }
  Value scale = emitter.load(scales, columnOf(k), Padding::Any);
  return arith::MulFOp::create(b, arith::SIToFPOp::create(b, emitter.tileType(rows, columns), all),
                               emitter.broadcast(scale, rows, columns));
}
