// What attention's three kernels share: which rows a workgroup owns, the loop over the others, and the scores between
// them.
#ifndef HEDDLE_COMPILER_TILING_ATTENTIONFRAME_H
#define HEDDLE_COMPILER_TILING_ATTENTIONFRAME_H

#include "compiler/Tiling/AttentionSharing.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace mlir::heddle {

/// A workgroup owns some queries (or keys) of one sequence and one head, and visits the sequence's keys (or queries, of
/// each head that the keys are for) in steps. So the tiles of scores have the owned side's rows and the visited side's
/// columns. How lanes share them is the business of an AttentionSharing. Where keys are for several heads of queries, a
/// query has a row for each of them (Attention::members), so that keys that are read serve them all.
///
/// Where a sequence has one query, a workgroup may own several heads that the same keys are for, and the keys are
/// distributed to the lanes: the tile of scores is a column, a row of it a key of the step, and what is summed up are
/// as many softmaxes, each of the keys that came to its row.
class AttentionFrame {
public:
  enum class Owns { Queries, Keys, OneQuery };

  /// Whether OneQuery can be owned.
  static bool isOfOneQuery(AttentionOp op);

  /// `products`: how many products of the head's width a step computes (AttentionSharing::Work).
  AttentionFrame(KernelEmitter &emitter, const Attention &attention, Owns owns, int64_t products);

  /// The rows and columns of a tile of scores.
  int64_t getRows() const { return sharing->getRows(); }
  int64_t getStep() const { return sharing->getStep(); }
  int64_t getWidth() const { return attention.width(); }
  /// The heads that a workgroup owns, and the one that all of the following is about: the first, until another is set.
  int64_t getHeads() const { return sharing->headsAtOnce(); }
  void setHead(int64_t number);
  /// How many rows of the other side the sequence has.
  Value getVisitedLength() const { return visitedLength; }
  /// The owned rows.
  const Place &owned() const { return ownedPlace; }

  /// Runs `body` in the workgroups whose rows begin inside of their sequence.
  void emit(function_ref<void()> body);

  using Step = AttentionStep;
  /// Visits what the mask leaves of the other side, step by step, and returns the last state.
  SmallVector<Value> visit(ValueRange state, function_ref<SmallVector<Value>(const Step &, ValueRange)> body);

  /// Where scores in memory have those of the owned rows and a step of visited ones, `visited` being the first's index
  /// in its sequence. If keys are owned, the place is that of the transposed tile.
  Place pairs(Value visited) const;

  /// A head's columns of `value` at a place. Rows past a sequence's end are any rows: they only reach scores that do
  /// not count, or rows that are not stored.
  Value load(Value value, const Place &place) { return sharing->load(value, place); }
  /// The same of a step's visited rows.
  Value loadVisited(Value value, const Step &at) { return sharing->loadVisited(value, at); }
  /// Owned rows as an operand.
  using OwnedOperand = AttentionSharing::OwnedOperand;
  OwnedOperand ownedOperand(Value value) { return sharing->ownedOperand(value, 1); }
  /// The same of the side that the scores are made of.
  OwnedOperand ownedOfScores(Value value) { return sharing->ownedOperand(value, ownedScale); }
  /// The scores from those rows: scaled, where a score region has yet to be applied to them.
  Value scaled(Value ownedRows, Value visitedRows);
  /// What the softmax is of. Its unit is a number of log(2) that a power takes in the instruction that subtracts.
  Value scores(Value scaled, const Step &at);
  /// The score of a pair that does not count, far below kLowest, which is below every other.
  static constexpr double kNever = -2e30, kLowest = -1e30;
  /// The tile where its pairs count, `otherwise` where they do not.
  Value where(const Step &at, Value tile, double otherwise);
  /// The gradient of the scaled scores, from that of the scores.
  Value scaledGradient(Value scaled, const Step &at, Value gradient);
  /// One number per query of this head: a column, or a row where the queries are visited.
  Value loadPerQuery(Value value, const Place &place);
  /// Writes such numbers. With one column a head log-sum-exp has the result's shape, and `finish` writes both: it is
  /// defined instead.
  void storePerQuery(Value result, Value tile);
  void definePerQuery(Value result, Value tile);
  /// Writes what the kernel makes of the op's results, of which these are the tiles of the owned rows.
  void finish(ArrayRef<std::pair<Value, Value>> results);

  /// The dot product of each owned row with each visited row, and what `sums` holds before.
  Value products(Value ownedRows, Value visitedRows, Value sums = {}) {
    return sharing->products(ownedRows, visitedRows, sums);
  }
  /// accumulator * (`rescale`, a number a row, if there is one) + weights * the step's visited rows of `value`.
  Value accumulate(Value weights, Value value, const Step &at, Value accumulator, Value rescale = {}) {
    return sharing->accumulate(weights, value, at, accumulator, rescale);
  }
  /// The accumulator before the first step, and the sums after the last, of weighed rows of `value`.
  Value beginSums(Value value) { return sharing->beginSums(value); }
  Value endSums(Value value, Value accumulator) { return sharing->endSums(value, accumulator); }
  /// The results of `accumulate` times a number a row.
  Value scaleRows(Value sums, Value factors) { return sharing->scaleRows(sums, factors); }
  /// What dropout multiplies the probabilities by, 0 or 1 / (1 - rate); null without dropout.
  Value dropoutFactor(const Step &step);
  /// 2 to the power of a number in units of log(2): the smallest powers may be zero.
  Value power(Value exponent) { return math::Exp2Op::create(b, exponent, arith::FastMathFlags::afn); }
  /// The powers of scores minus each query's reference, which is in units of log(2), 0 where a pair does not count:
  /// because its score is `kNever`, or by selection.
  Value powers(const Step &step, Value scores, Value reference);
  /// The probabilities again, from scores and each query's log-sum-exp in units of log(2).
  Value probabilities(const Step &step, Value scores, Value logSumExp);
  /// Converts a number from the scores' unit to units of log(2).
  Value inLogs(Value score) { return unit == 1 ? score : mul(score, unit); }

  Value mul(Value x, Value y);
  Value mul(Value x, double factor);
  Value sub(Value x, Value y);
  Value broadcast(Value tile) { return emitter.broadcast(tile, getRows(), getStep()); }

private:
  /// Begins the loop over a workgroup's tiles of owned rows: everything that is emitted later is in it.
  void walkOver(Value ownedStart, int64_t rows);
  /// The numbers that the queries of a place have.
  Place perQuery(const Place &place) const;
  void chooseScales();
  /// Whether each pair counts, as a tile.
  Value pairsThatCount(const Step &at);
  /// Indices of rows from `first` on, along a dimension of a tile of scores.
  Value indices(Value first, int64_t dim);
  /// Of numbers of owned rows, those of their queries (DivUIOp) or of the heads within their group (RemUIOp).
  template <typename Op> Value overMembers(Value rows);
  /// The head of each score, and its number in the group.
  Value headsOf(Type shape);
  Value membersOf();
  Value applyToScores(Region &region, Value scaled, const Step &at, ValueRange more);
  Value splat(double value, Value like);

  KernelEmitter &emitter;
  ImplicitLocOpBuilder &b;
  const Attention attention;
  const bool ownsQueries;
  const AttentionBounds bounds;
  const std::unique_ptr<AttentionSharing> sharing;
  double ownedScale = 1, productScale = 1, unit = 1; // of the owned rows, of their products, of the scores
  Value firstHead, head, visitedColumn;              // of queries; of the other side
  Value sequence, queryStart, first, ownedLength, visitedStart, visitedLength;
  Place ownedPlace;
};

} // namespace mlir::heddle

#endif
