// The choice of the next token: penalising logits in place, and drawing a token for each row.
#include "compiler/Kernel/Tiling/Frames/KernelEmitter.h"
#include "compiler/Kernel/Tiling/Rows/RowKernels.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace mlir::heddle;

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// kRunsAtOnce: the number of runs that lanes read at once if they share a row, so that they wait for memory only once.
/// kColumnsAtOnce: the number of columns that fit into the registers of lanes that do not wait.
constexpr int64_t kRunsAtOnce = 8, kColumnsAtOnce = 64;

// Keys: integers with the same order as the floats from whose bits they are made. For negative floats the bits below
// the sign are inverted.
constexpr int64_t kBelowAll = std::numeric_limits<int32_t>::min();
constexpr int64_t kLowestFinite = -0x7f800000; // key of -FLT_MAX
constexpr int64_t kInfinity = 0x7f800000;
constexpr int64_t kNowhere = std::numeric_limits<int32_t>::max();

/// kBitsOfWalk: bits of a key that one walk over the row finds. kWalks: walks that find all bits.
constexpr int64_t kBitsOfWalk = 2, kWalks = 32 / kBitsOfWalk;

/// Half of the largest float, so that the difference of two such numbers is finite.
constexpr double kHuge = 1.7e38;

/// The minimum that temperatures are raised to.
constexpr double kColdest = 1e-30;

/// A workgroup has a row. Its lanes, in several subgroups if there are enough columns, are laid out along the columns.
/// It walks over the row once to find the largest logit, once for each pair of bits of a cutoff, once for the sum of
/// the logits that top-k keeps, and once to draw. Walks that a row does not need make no steps.
class Drawing {
public:
  Drawing(DrawOp draw, KernelEmitter &emitter) : draw(draw), emitter(emitter), b(emitter.builder()) {}
  void emit();

private:
  using Step = function_ref<SmallVector<Value>(const Place &, ValueRange)>;
  struct Element {
    Value key, isInside; // `isInside` is null if all columns are inside
  };

  void emitFrame();
  SmallVector<Value> walk(Value isNeeded, ValueRange state, Step body);
  Element elementAt(const Place &place);
  Value search(Value isNeeded, Value target, function_ref<Value(Value key)> weigh);
  /// Returns the first column whose `best` is the largest of all.
  Value firstOf(Value best, Value largest, Value columns);
  void findLargest();
  Value drawOne(Value isNeeded, Value cutoff);

  Value scalar(Value column) {
    return memref::LoadOp::create(b, emitter.memoryOf(column), ValueRange{row, emitter.index(0)});
  }
  Value perRow(Value column) { return emitter.evaluate(column, {row, emitter.index(0), 1, 1, {}, {}}); }
  Value number(int64_t value) { return emitter.constantInt(1, 1, value); }
  Value numbers(int64_t value) { return emitter.constantInt(1, run, value); }
  Value floats(double value) { return emitter.constant(1, run, value); }
  Value wide(Value tile) { return emitter.broadcast(tile, 1, run); }
  Value isLess(Value x, Value y) { return compare(arith::CmpIPredicate::slt, x, y); }
  Value isNotLess(Value x, Value y) { return compare(arith::CmpIPredicate::sge, x, y); }
  Value compare(arith::CmpIPredicate how, Value x, Value y) { return arith::CmpIOp::create(b, how, x, y); }
  Value compare(arith::CmpFPredicate how, Value x, Value y) { return arith::CmpFOp::create(b, how, x, y); }
  Value select(Value condition, Value x, Value y) { return arith::SelectOp::create(b, condition, x, y); }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  /// Converts bits of floats to keys, and keys to bits.
  Value turn(Value bits);
  Value floatOf(Value key);
  /// (logit - largest) / temperature: the logarithm of a probability, up to a constant.
  Value exponent(Value key);
  Value power(Value key) { return math::ExpOp::create(b, exponent(key)); }

  DrawOp draw;
  KernelEmitter &emitter;
  ImplicitLocOpBuilder &b;
  int64_t columns = 0, run = 0, chunk = 0; // a run: one register of columns for each lane
  Value row, inverseTemperature;
  Value largestKey, largest, firstLargest, hasNaN; // of the row
};

void Drawing::emitFrame() {
  columns = typeOf(draw.getLogits()).getDimSize(1);
  emitter.setMapping(tile::LaneMapping::Columns);
  emitter.setVector({columns});
  emitter.setMaskedVector();
  emitter.narrowVector(columns);
  run = emitter.getLanes() * emitter.getVector();
  int64_t subgroups = emitter.getProfile().rows.subgroupsOfRow;
  while (subgroups > 1 && columns < 2 * subgroups * run)
    subgroups /= 2;
  emitter.setSubgroups(subgroups);
  run *= subgroups;
  int64_t most = emitter.getProfile().rows.shared ? kRunsAtOnce * run : std::max(run, kColumnsAtOnce);
  chunk = std::min<int64_t>(most, llvm::alignTo(columns, run));
  chunk = emitter.stepFor(columns, chunk, /*loops=*/2 * kWalks + 4);
  RankedTensorType token = typeOf(draw.getToken());
  row = emitter.setGrid(0, token.getDimSize(0), getSizeName(token, 0), 1);
}

/// Walks over the row if `isNeeded` is true or null.
SmallVector<Value> Drawing::walk(Value isNeeded, ValueRange state, Step body) {
  Value none = emitter.index(0), end = emitter.index(columns);
  if (isNeeded)
    end = select(isNeeded, end, none);
  Value limit = columns % chunk != 0 ? emitter.index(columns) : Value();
  return emitter.loop(none, end, chunk, columns, state, [&](Value column, ValueRange state) {
    SmallVector<Value> next(state);
    for (int64_t from = 0; from < chunk; from += run) {
      Place place{row, emitter.add(column, emitter.index(from)), 1, run, {}, limit};
      next = body(place, next);
    }
    return next;
  });
}

Value Drawing::turn(Value bits) {
  auto type = cast<RankedTensorType>(bits.getType());
  auto splat = [&](int64_t value) { return emitter.constantInt(1, type.getDimSize(1), value); };
  Value sign = arith::ShRSIOp::create(b, bits, splat(31));
  return arith::XOrIOp::create(b, bits, arith::AndIOp::create(b, sign, splat(0x7fffffff)));
}

Value Drawing::floatOf(Value key) {
  auto type = cast<RankedTensorType>(key.getType());
  return arith::BitcastOp::create(b, emitter.tileType(1, type.getDimSize(1)), turn(key));
}

Drawing::Element Drawing::elementAt(const Place &place) {
  Value bits =
      arith::BitcastOp::create(b, emitter.tileType(1, run, b.getI32Type()), emitter.evaluate(draw.getLogits(), place));
  // Both zeros get the same key.
  bits = select(compare(arith::CmpIPredicate::eq, bits, numbers(kBelowAll)), numbers(0), bits);
  Value key = turn(bits);
  if (!place.columnLimit)
    return {key, {}};
  Value isInside = isLess(emitter.indices(place, 1), numbers(columns));
  return {select(isInside, key, numbers(kBelowAll)), isInside};
}

Value Drawing::exponent(Value key) {
  Value clamped = arith::MaximumFOp::create(b, floatOf(key), floats(-kHuge));
  clamped = arith::MinimumFOp::create(b, clamped, floats(kHuge));
  return arith::MulFOp::create(b, arith::SubFOp::create(b, clamped, wide(largest)), wide(inverseTemperature));
}

Value Drawing::firstOf(Value best, Value largest, Value columns) {
  bool isFloat = typeOf(best).getElementType().isF32();
  Value isLargest = isFloat ? compare(arith::CmpFPredicate::OEQ, best, wide(largest))
                            : compare(arith::CmpIPredicate::eq, best, wide(largest));
  return emitter.reduce(tile::Combine::Min, select(isLargest, columns, numbers(kNowhere)), 1);
}

/// The keys of NaN lie beyond those of the infinities, so the key furthest from zero shows whether there is a NaN.
void Drawing::findLargest() {
  SmallVector<Value> found =
      walk({}, {numbers(kBelowAll), numbers(kNowhere), numbers(0)}, [&](const Place &place, ValueRange state) {
        auto [key, isInside] = elementAt(place);
        Value isBetter = compare(arith::CmpIPredicate::sgt, key, state[0]);
        Value sign = arith::ShRSIOp::create(b, key, numbers(31));
        Value magnitude = arith::XOrIOp::create(b, key, sign);
        if (isInside)
          magnitude = select(isInside, magnitude, numbers(0));
        return SmallVector<Value>{select(isBetter, key, state[0]),
                                  select(isBetter, emitter.indices(place, 1), state[1]),
                                  arith::MaxSIOp::create(b, state[2], magnitude)};
      });
  largestKey = emitter.reduce(tile::Combine::Max, found[0], 1);
  firstLargest = firstOf(found[0], largestKey, found[1]);
  Value furthest = emitter.reduce(tile::Combine::Max, found[2], 1);
  hasNaN = compare(arith::CmpIPredicate::sgt, furthest, number(kInfinity));
}

/// Finds the largest key such that the elements with at least that key weigh at least `target`, starting with the
/// uppermost bits. A sum of more elements, added in the same order, is never smaller, even with rounding. So the bits
/// found in different walks are consistent.
Value Drawing::search(Value isNeeded, Value target, function_ref<Value(Value key)> weigh) {
  Value none = emitter.index(0), end = select(isNeeded, emitter.index(kWalks), none);
  constexpr int64_t guesses = (1 << kBitsOfWalk) - 1;
  return emitter.loop(none, end, 1, kWalks, {number(kBelowAll), number(int64_t(1) << (32 - kBitsOfWalk))},
                      [&](Value, ValueRange state) {
                        SmallVector<Value> keys, zeros(guesses, floats(0));
                        for (int64_t i = 0; i < guesses; ++i)
                          keys.push_back(arith::AddIOp::create(b, i == 0 ? state[0] : keys.back(), state[1]));
                        SmallVector<Value> sums = walk({}, zeros, [&](const Place &place, ValueRange sums) {
                          Value key = elementAt(place).key, weight = weigh(key);
                          SmallVector<Value> next;
                          for (auto [guess, sum] : llvm::zip(keys, sums))
                            next.push_back(add(sum, select(isNotLess(key, wide(guess)), weight, floats(0))));
                          return next;
                        });
                        Value known = state[0];
                        for (auto [guess, sum] : llvm::zip(keys, sums)) {
                          Value whole = emitter.reduce(tile::Combine::Sum, sum, 1);
                          known = select(compare(arith::CmpFPredicate::OGE, whole, target), guess, known);
                        }
                        return SmallVector<Value>{known, arith::ShRUIOp::create(b, state[1], number(kBitsOfWalk))};
                      })[0];
}

/// Draws a token: the column with the largest sum of the scaled logit and Gumbel noise.
Value Drawing::drawOne(Value isNeeded, Value cutoff) {
  Value low = scalar(draw.getKeyLow()), high = scalar(draw.getKeyHigh());
  Value zero = arith::ConstantIntOp::create(b, b.getI32Type(), 0);
  Value lowest = floats(-std::numeric_limits<float>::infinity());
  SmallVector<Value> found = walk(isNeeded, {lowest, numbers(kNowhere)}, [&](const Place &place, ValueRange state) {
    Value key = elementAt(place).key, column = emitter.indices(place, 1);
    Value sameRow = tile::SplatOp::create(b, column.getType(), zero);
    Value uniform = tile::RandomOp::create(b, emitter.tileType(1, run), low, high, zero, zero, sameRow, column);
    Value noise = emitter.gumbel(uniform);
    Value score = add(exponent(key), noise);
    Value isBetter =
        arith::AndIOp::create(b, isNotLess(key, wide(cutoff)), compare(arith::CmpFPredicate::OGT, score, state[0]));
    return SmallVector<Value>{select(isBetter, score, state[0]), select(isBetter, column, state[1])};
  });
  return firstOf(found[0], emitter.reduce(tile::Combine::Max, found[0], 1), found[1]);
}

void Drawing::emit() {
  emitFrame();
  auto f32 = [&](double value) -> Value { return arith::ConstantOp::create(b, b.getF32FloatAttr(value)); };
  Value topK = emitter.loadIndex(draw.getTopK(), row);
  // Compared as unsigned, so that a negative number is more than all columns.
  Value isFew = arith::AndIOp::create(b, compare(arith::CmpIPredicate::ne, topK, emitter.index(0)),
                                      compare(arith::CmpIPredicate::ult, topK, emitter.index(columns)));
  Value isPart = compare(arith::CmpFPredicate::OLT, scalar(draw.getTopP()), f32(1));
  Value isWarm = compare(arith::CmpFPredicate::OGT, scalar(draw.getTemperature()), f32(0));
  Value temperature = perRow(draw.getTemperature());
  Value warm = arith::MaximumFOp::create(b, temperature, emitter.constant(1, 1, kColdest));
  inverseTemperature = arith::DivFOp::create(b, emitter.constant(1, 1, 1), warm);

  findLargest();
  largest = arith::MaximumFOp::create(b, floatOf(largestKey), emitter.constant(1, 1, -kHuge));
  largest = arith::MinimumFOp::create(b, largest, emitter.constant(1, 1, kHuge));

  Value count = arith::SIToFPOp::create(b, emitter.tileType(1, 1), perRow(draw.getTopK()));
  Value ofTopK = search(isFew, count, [&](Value) { return floats(1); });
  Value cutoff = arith::MaxSIOp::create(b, ofTopK, number(kLowestFinite));
  auto weigh = [&](Value key) { return select(isNotLess(key, wide(cutoff)), power(key), floats(0)); };
  Value sums = walk(isPart, floats(0), [&](const Place &place, ValueRange state) {
    return SmallVector<Value>{add(state[0], weigh(elementAt(place).key))};
  })[0];
  Value target = arith::MulFOp::create(b, emitter.reduce(tile::Combine::Sum, sums, 1), perRow(draw.getTopP()));
  Value ofTopP = search(isPart, target, weigh);
  // The most probable token always stays in.
  cutoff = arith::MinSIOp::create(b, arith::MaxSIOp::create(b, cutoff, ofTopP), largestKey);

  Value drawn = drawOne(isWarm, cutoff);
  drawn = select(compare(arith::CmpFPredicate::OGT, temperature, emitter.constant(1, 1, 0)), drawn, firstLargest);
  Value isNone = arith::OrIOp::create(b, hasNaN, isLess(largestKey, number(kLowestFinite)));
  Place to{row, emitter.index(0), 1, 1, {}, {}};
  emitter.store(draw.getToken(), select(isNone, number(-1), drawn), to);
  emitter.store(draw.getCutoff(), floatOf(cutoff), to);
}

struct DrawKernel : KernelOpInterface::ExternalModel<DrawKernel, DrawOp> {
  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    Drawing(cast<DrawOp>(op), emitter).emit();
    return success();
  }
};

/// A workgroup has one place, or a few. Only one lane may change it: the penalty would otherwise apply twice to a value
/// that another lane has written.
struct PenaliseKernel : KernelOpInterface::ExternalModel<PenaliseKernel, PenaliseOp> {
  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto penalise = cast<PenaliseOp>(op);
    auto &b = emitter.builder();
    Value logits = emitter.memoryOfResult(penalise.getResult());
    Matrix places = *Matrix::of(typeOf(penalise.getRows()));
    emitter.setMapping(tile::LaneMapping::Columns);
    emitter.setVector({1});
    int64_t lanes = emitter.getLanes();
    int64_t atOnce = llvm::divideCeil(emitter.maximumRows(places), emitter.getProfile().limits.workgroups);
    Value first = emitter.mul(emitter.setGrid(0, places.rows, places.size, atOnce), atOnce);
    Value end = arith::MinUIOp::create(b, emitter.add(first, emitter.index(atOnce)), emitter.rowsOf(places));
    emitter.loop(first, end, 1, atOnce, [&](Value i) {
      Value column = emitter.loadIndex(penalise.getColumns(), i);
      Place at{emitter.loadIndex(penalise.getRows(), i), column, 1, lanes, {}, emitter.add(column, emitter.index(1))};
      Value logit = emitter.load(logits, at);
      Value scalar =
          memref::LoadOp::create(b, emitter.memoryOf(penalise.getPenalties()), ValueRange{i, emitter.index(0)});
      Value penalty = tile::SplatOp::create(b, logit.getType(), scalar);
      Value isPositive = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, logit, emitter.constant(1, lanes, 0));
      Value less = arith::SelectOp::create(b, isPositive, arith::DivFOp::create(b, logit, penalty),
                                           arith::MulFOp::create(b, logit, penalty));
      emitter.store(penalise.getResult(), less, at);
    });
    return success();
  }
  bool worksInPlace(Operation *) const { return true; }
};

} // namespace

void heddle::registerDrawKernels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, HeddleDialect *) {
    DrawOp::attachInterface<DrawKernel>(*context);
    PenaliseOp::attachInterface<PenaliseKernel>(*context);
  });
}
