// Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011), in one lane.
#include "compiler/Lanes/Lanes.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

constexpr int kRounds = 10;
constexpr uint32_t kMultipliers[] = {0xD2511F53, 0xCD9E8D57};
constexpr uint32_t kKeySteps[] = {0x9E3779B9, 0xBB67AE85};

/// The number of words of a counter.
constexpr int64_t kWords = 4;
/// Vectors of at least kWideVector elements draw a vector of counters at a time. Up to kRegistersTogether registers
/// share it: they take as many counters as a vector has elements.
constexpr int64_t kWideVector = 8, kRegistersTogether = 4;

using Words = std::array<Value, kWords>;

/// Counters and keys are numbers, or vectors of equal length.
Words philox(LaneBuilder &b, Words counter, std::array<Value, 2> key) {
  Type type = counter[0].getType();
  auto exclusiveOr = [&](Value x, Value y) { return b.createOrFold<arith::XOrIOp>(x, y); };
  Value multipliers[2], steps[2];
  for (int i : {0, 1}) {
    multipliers[i] = b.constant(type, static_cast<int32_t>(kMultipliers[i]));
    steps[i] = b.constant(type, static_cast<int32_t>(kKeySteps[i]));
  }
  for (int round = 0; round < kRounds; ++round) {
    auto first = arith::MulUIExtendedOp::create(b, multipliers[0], counter[0]);
    auto second = arith::MulUIExtendedOp::create(b, multipliers[1], counter[2]);
    counter = {exclusiveOr(exclusiveOr(second.getHigh(), counter[1]), key[0]), second.getLow(),
               exclusiveOr(exclusiveOr(first.getHigh(), counter[3]), key[1]), first.getLow()};
    for (int i : {0, 1})
      key[i] = b.createOrFold<arith::AddIOp>(key[i], steps[i]);
  }
  return counter;
}

/// Returns the shuffle of two vectors. `mask` gives the element for each of `count` indices.
Value shuffle(LaneBuilder &b, Value x, Value y, int64_t count, function_ref<int64_t(int64_t)> mask) {
  return vector::ShuffleOp::create(b, x, y, llvm::map_to_vector(llvm::seq(count), mask));
}

/// Returns a vector of every fourth element of one, two or four vectors: an element for each counter.
Value ofCounters(LaneBuilder &b, ValueRange registers) {
  int64_t length = cast<VectorType>(registers[0].getType()).getDimSize(0), each = length / kWords;
  if (registers.size() == 1)
    return shuffle(b, registers[0], registers[0], each, [](int64_t i) { return kWords * i; });
  auto pair = [&](Value x, Value y) { return shuffle(b, x, y, 2 * each, [&](int64_t i) { return kWords * i; }); };
  Value first = pair(registers[0], registers[1]);
  if (registers.size() == 2)
    return first;
  return shuffle(b, first, pair(registers[2], registers[3]), 4 * each, [](int64_t i) { return i; });
}

/// Returns the words of a register of `length` columns. Its counters begin with element `first` of the words.
Value ofRegister(LaneBuilder &b, const Words &words, int64_t first, int64_t length) {
  int64_t counters = cast<VectorType>(words[0].getType()).getDimSize(0), half = length / 2;
  auto interleaved = [&](Value x, Value y) {
    return shuffle(b, x, y, half, [&](int64_t i) { return first + i / 2 + i % 2 * counters; });
  };
  return shuffle(b, interleaved(words[0], words[1]), interleaved(words[2], words[3]), length,
                 [&](int64_t i) { return i / 4 * 2 + i % 2 + (i % 4 >= 2 ? half : 0); });
}

/// Returns true if all columns of a row of the tile hold the same value.
bool isUniformAlongRow(Value tile) {
  Operation *op = tile.getDefiningOp();
  if (!op)
    return false;
  if (isa<tile::SplatOp>(op) || cast<RankedTensorType>(tile.getType()).getDimSize(1) == 1)
    return true;
  if (auto index = dyn_cast<tile::IndexOp>(op))
    return index.getDim() == 0;
  if (auto broadcast = dyn_cast<tile::BroadcastOp>(op))
    return isUniformAlongRow(broadcast.getInput());
  return OpTrait::hasElementwiseMappableTraits(op) && llvm::all_of(op->getOperands(), isUniformAlongRow);
}

/// Returns true if the tile holds the numbers of its columns: four columns of a register are then the four words of one
/// counter.
bool numbersColumns(Value tile) {
  if (auto broadcast = tile.getDefiningOp<tile::BroadcastOp>())
    tile = broadcast.getInput();
  auto index = tile.getDefiningOp<tile::IndexOp>();
  return index && index.getDim() == 1;
}

struct LowerRandom : OpConversionPattern<tile::RandomOp> {
  LowerRandom(const TypeConverter &converter, MLIRContext *context, const DenseSet<Operation *> &wholeCounters)
      : OpConversionPattern(converter, context), wholeCounters(wholeCounters) {}

  LogicalResult matchAndRewrite(tile::RandomOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    LaneBuilder b(op.getLoc(), rewriter);
    Type type = getRegisterType(op.getType());
    Type wordType = getRegisterType(cast<RankedTensorType>(op.getRows().getType()));
    int64_t vector = tile::getLaneShape(op.getType()).vector;
    bool together = wholeCounters.contains(op);
    SmallVector<Value> registers;
    if (together && vector >= kWideVector) {
      for (Value words : drawWide(b, op, adaptor, vector))
        registers.push_back(toUnit(b, type, words));
      rewriter.replaceOpWithMultiple(op, {registers});
      return success();
    }
    for (auto [rows, columns] : llvm::zip(adaptor.getRows(), adaptor.getColumns())) {
      Value streams = op.getStreams() ? adaptor.getStreams()[registers.size()] : Value();
      auto draw = [&, rows = rows](int64_t element, Value column) {
        Value group = arith::ShRUIOp::create(b, column, b.constant(b.getI32Type(), 2)), stream = op.getStream();
        if (streams)
          stream = arith::AddIOp::create(b, stream, b.extract(streams, element));
        return philox(b, {group, b.extract(rows, element), stream, op.getStep()}, {op.getSeedLow(), op.getSeedHigh()});
      };
      SmallVector<Value> words;
      if (together && vector % 4 == 0) {
        for (int64_t element = 0; element < vector; element += 4)
          llvm::append_range(words, draw(element, b.extract(columns, element)));
      } else if (together) {
        // The register holds two of the four words: the first two or the last two.
        Value column = b.extract(columns, 0);
        Words all = draw(0, column);
        Value masked = arith::AndIOp::create(b, column, b.constant(b.getI32Type(), 2));
        Value isUpper = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, masked, b.constant(b.getI32Type(), 0));
        for (int64_t element : {0, 1})
          words.push_back(arith::SelectOp::create(b, isUpper, all[2 + element], all[element]));
      } else {
        for (int64_t element = 0; element < vector; ++element) {
          Value column = b.extract(columns, element);
          words.push_back(select(b, draw(element, column), column));
        }
      }
      registers.push_back(toUnit(b, type, b.assemble(wordType, words)));
    }
    rewriter.replaceOpWithMultiple(op, {registers});
    return success();
  }

  /// Returns the random words of all registers. Several adjacent registers are drawn together, from wider vectors.
  static SmallVector<Value> drawWide(LaneBuilder &b, tile::RandomOp op, OneToNOpAdaptor adaptor, int64_t vector) {
    SmallVector<Value> registers;
    while (registers.size() < adaptor.getRows().size()) {
      size_t done = registers.size(), left = adaptor.getRows().size() - done;
      size_t count = std::min<size_t>(kRegistersTogether, llvm::bit_floor(left));
      auto part = [&](ValueRange all) { return ofCounters(b, all.slice(done, count)); };
      Value columns = part(adaptor.getColumns());
      auto all = [&](Value number) { return vector::BroadcastOp::create(b, columns.getType(), number).getResult(); };
      Value stream = all(op.getStream());
      if (op.getStreams())
        stream = arith::AddIOp::create(b, stream, part(adaptor.getStreams()));
      Value group = arith::ShRUIOp::create(b, columns, b.constant(columns.getType(), 2));
      Words words = philox(b, {group, part(adaptor.getRows()), stream, all(op.getStep())},
                           {all(op.getSeedLow()), all(op.getSeedHigh())});
      for (size_t i = 0; i < count; ++i)
        registers.push_back(ofRegister(b, words, static_cast<int64_t>(i) * vector / kWords, vector));
    }
    return registers;
  }

  /// The word that belongs to a column.
  static Value select(LaneBuilder &b, const Words &words, Value column) {
    Type i32 = b.getI32Type();
    auto bit = [&](int64_t mask) -> Value {
      Value masked = arith::AndIOp::create(b, column, b.constant(i32, mask));
      return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, masked, b.constant(i32, 0));
    };
    Value odd = bit(1), upper = bit(2);
    Value low = arith::SelectOp::create(b, odd, words[1], words[0]);
    Value high = arith::SelectOp::create(b, odd, words[3], words[2]);
    return arith::SelectOp::create(b, upper, high, low);
  }

  /// The upper 24 bits, which an f32 holds exactly, as a number in [0, 1).
  static Value toUnit(LaneBuilder &b, Type type, Value word) {
    Value bits = arith::ShRUIOp::create(b, word, b.constant(word.getType(), 8));
    TypedAttr scale = b.getF32FloatAttr(0x1p-24f);
    if (auto vector = dyn_cast<VectorType>(type))
      scale = DenseElementsAttr::get(vector, ArrayRef<Attribute>(scale));
    // 24 bits fit a signed number, whose conversion most devices have an instruction for.
    return arith::MulFOp::create(b, arith::SIToFPOp::create(b, type, bits), arith::ConstantOp::create(b, scale));
  }

  const DenseSet<Operation *> &wholeCounters;
};

} // namespace

DenseSet<Operation *> heddle::findWholeCounters(tile::FuncOp kernel) {
  DenseSet<Operation *> found;
  kernel.walk([&](tile::RandomOp op) {
    if (tile::getLaneShape(op.getType()).vector % 2 == 0 && numbersColumns(op.getColumns()) &&
        isUniformAlongRow(op.getRows()) && (!op.getStreams() || isUniformAlongRow(op.getStreams())))
      found.insert(op);
  });
  return found;
}

void heddle::populateLaneRandomPatterns(const TypeConverter &converter, const DenseSet<Operation *> &wholeCounters,
                                        RewritePatternSet &patterns) {
  patterns.add<LowerRandom>(converter, patterns.getContext(), wholeCounters);
}
