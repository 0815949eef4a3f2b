// The loops of StreamedProduct along the K dimension: over a matrix of floats, over packed numbers that are unpacked on
// the way, and over packed integers.
#include "compiler/Kernel/Tiling/Matmul/IntegerProduct.h"
#include "compiler/Kernel/Tiling/Matmul/PackedNumbers.h"
#include "compiler/Kernel/Tiling/Matmul/StreamedProduct.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::heddle;

/// The step for several rows or a panel of packed numbers, where one word after another is unpacked. Published formats
/// have a scale for 32 numbers, so a step multiplies by the scale only once.
static constexpr int64_t kStepOfRows = 32;
/// The rows of such a step that are unpacked at a time, unless they are those of a word.
static constexpr int64_t kPart = 8;
/// The right side is prefetched this many steps before it is used: the processor would wait at the beginning of each
/// run, and for several rows a step has so much arithmetic that the next step's loads would begin late.
static constexpr int64_t kStepsAhead = 2;
/// The same for words of a panel and a single row.
static constexpr int64_t kStepsAheadOfRow = 4;
/// The same for integers, for several rows and for one.
static constexpr int64_t kIntegerStepsAhead = 8, kIntegerStepsAheadOfRow = 4;
/// The same in a wide panel, in rows of words. All words are read in the order in which they lie in memory.
static constexpr int64_t kWordsAhead = 4;

class StreamedProduct::Loop {
public:
  Loop(StreamedProduct &product, const MatmulOperands &operands, const DepthRange &range)
      : product(product), emitter(product.emitter), tile(product.tile), rows(product.block.rows), operands(operands),
        range(range), numbers(PackedNumbers::of(emitter, operands)),
        // Scaling the sums at the end would scale the results of earlier matmuls, too.
        scalesSums(numbers && numbers->haveScalesOfColumns() && !product.hasSums) {}

  void run() {
    bool hasLongSteps =
        numbers && getConstantIntValue(range.end) && range.depth % kStepOfRows == 0 && scalesStep(kStepOfRows);
    if (hasLongSteps && IntegerProduct::isPossible(emitter.getProfile(), numbers->op(), /*isTransposed=*/false)) {
      addIntegers();
    } else if (hasLongSteps && (rows > 1 || product.isPanel())) {
      steps(range.begin, range.end, kStepOfRows, {});
    } else if (!numbers && range.limit) { // whole steps without limits, and then the rest one by one
      Value middle = range.endOfSteps(emitter, product.step);
      steps(range.begin, middle, product.step, {});
      steps(middle, range.end, 1, {});
    } else {
      steps(range.begin, range.end, product.step, range.limit);
    }
    if (scalesSums)
      product.forTiles([&] { return numbers->scaleColumns(product.load(product.sums), tile); });
  }

private:
  /// Returns true if the sums of a step can be multiplied by the scales, now or at the end.
  bool scalesStep(int64_t length) const { return scalesSums || numbers->haveScalesOfSteps(length); }

  void steps(Value begin, Value end, int64_t length, Value limit) {
    emitter.loop(begin, end, length, range.depth, [&](Value k) {
      DepthStep step{k, length, limit};
      Place any = product.tileAt(product.block.column); // all tiles have its rows
      Place lhs = operands.lhsAt(any, step), rhs = operands.rhsAt(emitter, any, step);
      Value left = emitter.widen(emitter.evaluate(operands.lhs, lhs, step.padding()));
      if (numbers && scalesStep(length))
        addNumbers(left, rhs);
      else
        addMatrix(left, rhs, step.padding());
    });
  }

  /// Adds the product of a step's left side and the step's rows of the right side.
  void addMatrix(Value left, const Place &step, Padding padding) {
    product.forTiles([&] {
      Value ahead = emitter.add(step.row, emitter.index(kStepsAhead * step.rows));
      prefetchStored(emitter, operands.rhs, product.shareOf(ahead, step.rows));
      Value sums = product.load(product.sums);
      Value right = emitter.evaluate(operands.rhs, inTile(step.row, step.rows, step.rowLimit), padding);
      return dot(emitter, left, emitter.widen(right), sums);
    });
  }

  /// A step's left side, prepared for packed numbers. If there are several rows, it is read from scratch memory, and
  /// words are unpacked one at a time.
  struct Left {
    std::optional<NumbersInPlace> inPlace;
    Value bias = {};  // a column of what the products of the first rows begin with; null: zero
    Value total = {}; // see PackedNumbers::totalOf; null also if scales multiply all sums
    Value all;        // divided by the factors of numbers in place
    Value kept = {};  // the same in scratch memory; null: all rows are multiplied at once
    int64_t part;     // the rows of the right side that are multiplied at a time
  };

  Left prepare(Value left, int64_t length) const {
    auto &b = emitter.builder();
    Left own{.all = left, .part = length};
    if (length % emitter.getVector() == 0) // the biases multiply the sum of the left side's elements
      own.inPlace = NumbersInPlace::of(emitter, numbers->op(), length);
    if (!scalesSums)
      own.total = numbers->totalOf(left);
    if (own.inPlace) {
      auto times = [&](Value row) {
        return arith::MulFOp::create(b, left, emitter.broadcast(row, rows, length)).getResult();
      };
      if (own.inPlace->biases)
        own.bias = emitter.reduce(tile::Combine::Sum, times(own.inPlace->biases), 1);
      own.all = times(own.inPlace->dividing);
    }
    if ((rows > 1 || product.isPanel()) && length > kPart)
      own.part = own.inPlace ? numbers->ofWord() : kPart;
    if (own.part < length) {
      own.kept = emitter.sharedTile(cast<RankedTensorType>(left.getType()));
      tile::StoreOp::create(b, own.all, own.kept, emitter.index(0), emitter.index(0));
    }
    return own;
  }

  /// The same with packed numbers, whose columns have one scale each.
  void addNumbers(Value left, const Place &step) {
    Left own = prepare(left, step.rows);
    if (own.kept && product.isWide())
      addRowsOfWords(own, step);
    else
      addTileByTile(own, step);
  }

  /// Reads a row of words of all tiles, and then the next.
  void addRowsOfWords(const Left &left, const Place &step) {
    // The sum of all parts has the bias and the offset only once, so they go to the first part.
    Value none = emitter.constant(rows, 1, 0);
    SmallVector<Value> first{left.bias ? left.bias : none};
    if (left.total)
      first.push_back(left.total);
    auto addPart = [&](Value row, ValueRange state) -> SmallVector<Value> {
      Value ofPart = partOf(left, row), bias = state[0], total = left.total ? state[1] : Value();
      product.forTiles([&] {
        Place words = inTile(emitter.add(step.row, row), left.part, step.rowLimit);
        prefetchAhead(words, kWordsAhead * left.part);
        Value start = emitter.broadcast(bias, rows, tile.columns);
        Value part = multiply(left, ofPart, words, start);
        return addStep(product.load(product.sums), part, total, inTile(step.row, step.rows, step.rowLimit));
      });
      return SmallVector<Value>(first.size(), none);
    };
    emitter.loop(emitter.index(0), emitter.index(step.rows), left.part, step.rows, first, addPart);
  }

  /// Reads the words of a tile, and then those of the next.
  void addTileByTile(const Left &left, const Place &step) {
    product.forTiles([&] {
      Place all = inTile(step.row, step.rows, step.rowLimit);
      if (!product.isPanel())
        prefetchAhead(all, (left.kept ? 1 : kStepsAhead) * step.rows);
      Value sum =
          left.bias ? emitter.broadcast(left.bias, rows, tile.columns) : emitter.constant(rows, tile.columns, 0);
      auto addPart = [&](Value row, ValueRange state) -> SmallVector<Value> {
        Value ofPart = partOf(left, row);
        Place words = inTile(emitter.add(step.row, row), left.part, step.rowLimit);
        if (product.isPanel())
          prefetchAhead(words, (rows > 1 ? kStepsAhead : kStepsAheadOfRow) * step.rows);
        return {multiply(left, ofPart, words, state[0])};
      };
      sum = left.kept ? emitter.loop(emitter.index(0), emitter.index(step.rows), left.part, step.rows, sum, addPart)[0]
                      : multiply(left, left.all, all, sum);
      return addStep(product.load(product.sums), sum, left.total, all);
    });
  }

  Value partOf(const Left &left, Value row) const {
    return emitter.load(left.kept, {emitter.index(0), row, rows, left.part, {}, {}}, Padding::Any);
  }

  Value multiply(const Left &left, Value ofPart, const Place &words, Value sum) const {
    Value right = left.inPlace ? left.inPlace->numbers(emitter, numbers->op(), words) : numbers->at(words);
    return dot(emitter, ofPart, right, sum);
  }

  /// The place of `count` rows of the right side, from `row` on, in the columns of the tile.
  Place inTile(Value row, int64_t count, Value rowLimit) const {
    return {row, tile.column, count, tile.columns, rowLimit, tile.columnLimit};
  }

  void prefetchAhead(Place words, int64_t ahead) const {
    words.row = emitter.add(words.row, emitter.index(ahead));
    words.rowLimit = words.columnLimit = {};
    prefetchWords(emitter, numbers->op(), words);
  }

  /// Returns `sum` plus the product of a whole step, whose numbers are at `place`. `total`: of the step's left side.
  Value addStep(Value sum, Value product, Value total, const Place &place) const {
    return scalesSums ? arith::AddFOp::create(emitter.builder(), sum, product).getResult()
                      : numbers->addScaled(sum, product, total, place);
  }

  /// Multiplies packed integers without unpacking them, in the same two orders.
  void addIntegers() {
    constexpr int64_t step = IntegerProduct::kStep;
    Place any = product.tileAt(product.block.column);
    IntegerProduct integers(emitter, numbers->op(), rows, range.depth, /*isTransposed=*/false);
    integers.split(any.row, [&](Value k) {
      Place place{any.row, k, rows, step, any.rowLimit, {}};
      return emitter.widen(emitter.evaluate(operands.lhs, place, Padding::Zero));
    });
    if (product.isWide())
      addRowsOfIntegers(integers);
    else
      addIntegersTileByTile(integers);
  }

  void addRowsOfIntegers(const IntegerProduct &integers) {
    constexpr int64_t step = IntegerProduct::kStep;
    int64_t part = numbers->ofWord();
    Value unfinished = product.scratch(emitter.builder().getI32Type()); // sums of the words so far of a step
    auto addStepOfTiles = [&](Value k) {
      for (int64_t first = 0; first < step; first += part) {
        SmallVector<Value> left = integers.digitsAt(k, emitter.index(first), part);
        Value start = first == 0 ? integers.begin(k, product.columns) : Value();
        product.forTiles([&]() -> Value {
          Place words = integersAt(k, first, part);
          prefetchAhead(words, kWordsAhead * part);
          Value sums = integers.add(left, words, start ? start : product.load(unfinished));
          if (first + part == step)
            return addStep(product.load(product.sums), integers.finish(k, sums), integers.total(k),
                           integersAt(k, 0, step));
          product.store(sums, unfinished);
          return {};
        });
      }
    };
    emitter.loop(range.begin, range.end, step, range.depth, addStepOfTiles);
  }

  void addIntegersTileByTile(const IntegerProduct &integers) {
    constexpr int64_t step = IntegerProduct::kStep;
    product.forTiles([&] {
      auto add = [&](Value k, ValueRange state) -> SmallVector<Value> {
        Place all = integersAt(k, 0, step);
        prefetchAhead(all, (rows > 1 ? kIntegerStepsAhead : kIntegerStepsAheadOfRow) * step);
        return {addStep(state[0], integers.multiply(k, all), integers.total(k), all)};
      };
      return emitter.loop(range.begin, range.end, step, range.depth, product.load(product.sums), add)[0];
    });
  }

  /// The place of `count` of a step's rows, from the step's row `first` on. Integers need no limits.
  Place integersAt(Value k, int64_t first, int64_t count) const {
    Value row = emitter.add(k, emitter.index(first));
    return {operands.shift ? emitter.add(row, operands.shift) : row, tile.column, count, tile.columns, {}, {}};
  }

  StreamedProduct &product;
  KernelEmitter &emitter;
  const Place &tile;
  int64_t rows;
  const MatmulOperands &operands;
  const DepthRange &range;
  std::optional<PackedNumbers> numbers;
  bool scalesSums;
};

SmallVector<Value> StreamedProduct::accumulate(const MatmulOperands &operands, const DepthRange &range, ValueRange) {
  Loop(*this, operands, range).run();
  hasSums = true;
  return {};
}
