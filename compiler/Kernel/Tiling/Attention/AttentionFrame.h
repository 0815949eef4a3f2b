// The parts that attention's three kernels share: which rows a workgroup owns, the loop over the other side's rows, and
// the scores between them.
#pragma once

#include "compiler/Kernel/Tiling/Attention/AttentionSharing.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace mlir::heddle {

/// A workgroup owns some queries (or keys) of one sequence and head. It visits the sequence's keys (or queries, of
/// every head that uses the keys) in steps. A tile of scores has a row for each owned row and a column for each visited
/// row. An AttentionSharing decides how lanes share the tile. If several query heads use the same keys, a query has a
/// row for each of these heads (Attention::members), so that a loaded key serves all of them.
///
/// If each sequence has one query, a workgroup may own several heads that use the same keys, and keys are distributed
/// over the lanes. The tile of scores is then a column with a row for each key of the step. Each row keeps a softmax of
/// its own, over the keys that came to this row. The softmaxes are merged at the end.
class AttentionFrame {
public:
  enum class Owns { Queries, Keys, OneQuery };

  /// Returns true if the op's workgroups can own a single query (OneQuery).
  static bool isOfOneQuery(AttentionOp op);
  /// Returns true if a workgroup owns neighbouring queries, each the only one of its sequence (Attention::together). A call
  /// has more queries than half of the rows of keys, so many queries share a key. On a processor, a thread also has room
  /// for the keys' panels.
  static bool areTogether(AttentionOp op, KernelEmitter &emitter);

  /// `products`: the number of matmuls of the head's width in a step (AttentionSharing::Work).
  AttentionFrame(KernelEmitter &emitter, const Attention &attention, Owns owns, int64_t products);

  /// The rows and columns of a tile of scores.
  int64_t getRows() const { return sharing->getRows(); }
  int64_t getStep() const { return sharing->getStep(); }
  int64_t getWidth() const { return attention.width(); }
  /// The number of heads that a workgroup owns. All functions below work on one of them: the first, until `setHead`
  /// chooses another.
  int64_t getHeads() const { return sharing->headsAtOnce(); }
  void setHead(int64_t number);
  /// The number of rows of the other side in the sequence.
  Value getVisitedLength() const { return visitedLength; }
  /// The owned rows.
  const Place &owned() const { return ownedPlace; }

  /// Emits `body` for the workgroups whose rows begin inside their sequence.
  void emit(function_ref<void()> body);

  using Step = AttentionStep;
  /// Visits the other side's rows that the mask allows, step by step, and returns the last state.
  SmallVector<Value> visit(ValueRange state, function_ref<SmallVector<Value>(const Step &, ValueRange)> body);

  /// Returns the place, in the scores in memory, of the pairs of the owned rows and a step's visited rows. `visited` is
  /// the index of the step's first row in its sequence. If keys are owned, the place is that of the transposed tile.
  Place pairs(Value visited) const;

  /// Loads a head's columns of `value` at a place. Rows past a sequence's end have arbitrary contents: they only affect
  /// scores that do not count, or rows that are not stored.
  Value load(Value value, const Place &place) { return sharing->load(value, place); }
  /// Loads a step's visited rows of `value`.
  Value loadVisited(Value value, const Step &at) { return sharing->loadVisited(value, at); }
  /// Owned rows as an operand.
  using OwnedOperand = AttentionSharing::OwnedOperand;
  OwnedOperand ownedOperand(Value value) { return sharing->ownedOperand(value, 1); }
  /// The owned operand of the scores, times the scale if it is folded into the owned rows.
  OwnedOperand ownedOfScores(Value value) { return sharing->ownedOperand(value, ownedScale); }
  /// Returns the scores of these rows before a score region is applied.
  Value scaled(Value ownedRows, Value visitedRows);
  /// Returns the input of the softmax: `scaled` after the score region. It is in units of `unit` * log(2). The factor
  /// `unit` fuses with the subtraction of the maximum, so it costs no instruction.
  Value scores(Value scaled, const Step &at);
  /// kNever is the score of a pair that does not count. It is far below kLowest, which is below every other score.
  static constexpr double kNever = -2e30, kLowest = -1e30;
  /// Returns the tile, with `otherwise` for the pairs that do not count.
  Value where(const Step &at, Value tile, double otherwise);
  /// Returns the gradient of the scaled scores, given the gradient of the scores.
  Value scaledGradient(Value scaled, const Step &at, Value gradient);
  /// Loads one number per query of this head: a column, or a row if queries are visited.
  Value loadPerQuery(Value value, const Place &place);
  /// Returns, for each owned row, its head's number in a vector.
  Value numbersOfHeads(Value vector);
  /// Writes one number per query. If a head has one column, log-sum-exp has the result's shape, and `finish` writes
  /// both. `definePerQuery` prepares that.
  void storePerQuery(Value result, Value tile);
  void definePerQuery(Value result, Value tile);
  /// Computes the epilogue and writes the kernel's results. `results` holds each result of the op and its tile of the
  /// owned rows.
  void finish(ArrayRef<std::pair<Value, Value>> results);

  /// Returns the dot product of each owned row with each visited row, plus `sums` if given.
  Value products(Value ownedRows, Value visitedRows, Value sums = {}) {
    return sharing->products(ownedRows, visitedRows, sums);
  }
  /// Returns accumulator * `rescale` + weights * the step's visited rows of `value`. `rescale` has one number per row
  /// and is optional.
  Value accumulate(Value weights, Value value, const Step &at, Value accumulator, Value rescale = {}) {
    return sharing->accumulate(weights, value, at, accumulator, rescale);
  }
  /// The accumulator before the first step, and the sums after the last step, for weighted sums of the rows of `value`.
  Value beginSums(Value value) { return sharing->beginSums(value); }
  bool hasSumsInMemory() const { return sharing->hasSumsInMemory(); }
  void scaleSums(Value value, Value factors) { sharing->scaleSums(value, factors); }
  Value endSums(Value value, Value accumulator) { return sharing->endSums(value, accumulator); }
  /// Multiplies each row of an accumulator by its number in `factors`.
  Value scaleRows(Value sums, Value factors) { return sharing->scaleRows(sums, factors); }
  /// Returns the factors that dropout applies to the probabilities, 0 or 1 / (1 - rate). Null without dropout.
  Value dropoutFactor(const Step &step);
  /// Returns 2^exponent: the exponential of a number in units of log(2). The smallest powers may be zero.
  Value power(Value exponent) { return math::Exp2Op::create(b, exponent, arith::FastMathFlags::afn); }
  /// Returns 2^(score - reference) for each score, after converting it to units of log(2). `reference` has one number
  /// per query, in units of log(2). The power of a pair that does not count is 0, because its score is `kNever` or by
  /// selection.
  Value powers(const Step &step, Value scores, Value reference);
  /// Recomputes the probabilities from scores and each query's log-sum-exp, which is in units of log(2).
  Value probabilities(const Step &step, Value scores, Value logSumExp);
  /// Converts a number from the scores' unit to units of log(2).
  Value inLogs(Value score) { return unit == 1 ? score : mul(score, unit); }

  Value mul(Value x, Value y);
  Value mul(Value x, double factor);
  Value sub(Value x, Value y);
  Value broadcast(Value tile) { return emitter.broadcast(tile, getRows(), getStep()); }

private:
  /// Rows of the key matrix.
  struct Span {
    Value begin, end;
  };
  Span keysOf(Value query);
  Span unite(const Span &one, const Span &other);
  Value overlap(const Span &one, const Span &other);
  /// `emit` for neighbouring queries.
  void emitTogether(function_ref<void()> body);
  /// Returns the range of the run's rows that the tile's queries visit, and finds the keys of each of its rows.
  std::pair<Value, Value> findKeysOfTile();
  /// Makes a step's indices those in each query's own sequence.
  void countOwnKeys(Step &at);
  /// Sets the grid along an axis to a workgroup for each row of a sequence's partial sums. Returns its number.
  Value setGridOfSums(int axis, int64_t ownedInAll);
  int64_t rowsOfSequence() const;
  /// Narrows the keys of a sequence to those of the workgroup's part. Returns an i1: true for the first part, and if the
  /// part has keys.
  Value narrowToPart(Value &start, Value &length);
  /// The place, shifted to the columns of the workgroup's part, if a part has `columns` columns.
  Place ofPart(Place place, int64_t columns) const;
  /// Writes the workgroup's row of each of the kernel's partial sums, given the rows' memory, or zeros without it.
  void storeSums(ArrayRef<Value> shared);
  /// Begins the loop over a workgroup's tiles of owned rows. Everything emitted later is inside it.
  void walkOver(Value ownedStart, int64_t rows);
  /// The place of the numbers per query for the queries at `place`.
  Place perQuery(const Place &place) const;
  void chooseScales();
  /// Returns true if it is known that all pairs of the step count.
  bool countsWhole(const Step &at) const { return !at.visited.rowLimit && !attention.mask && !attention.together; }
  /// Returns an i1 tile that is true for each pair that counts.
  Value pairsThatCount(const Step &at);
  /// Indices of rows from `first` on, along dimension `dim` of a tile of scores.
  Value indices(Value first, int64_t dim);
  /// Maps indices of owned rows to indices of their queries (DivUIOp) or to the heads' numbers in their group
  /// (RemUIOp).
  template <typename Op> Value overMembers(Value rows);
  /// The head of each score, and the head's number in its group.
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
  double ownedScale = 1, productScale = 1, unit = 1; // scale of owned rows, scale of products, unit of scores
  Value firstHead, head, visitedColumn;              // visitedColumn: the first column of the visited head
  Value part;                          // the number of the workgroup's part of the keys; null if there is one
  Value pastRun, firstKeys, keyCounts; // of neighbouring queries: the run's end; for each score, its query's keys
  Value sequence, queryStart, first, ownedLength, visitedStart, visitedLength;
  Place ownedPlace;
  SmallVector<PartialSumsOp> sums; // over the rows of the results (heddle-join-sums)
  Value rowOfSums;
};

} // namespace mlir::heddle
